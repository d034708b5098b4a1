// The layout of single calls. Each rank has a row, and each row a lane for each thread. If calls of one thread
// overlap, because one call was made inside another one, the thread has further lanes.
//
// In a lane calls are disjoint and in order, so a binary search finds the call at a time.

import type { Call } from "../answers.ts";

export interface Lane {
  readonly thread: number;
  /** Sorted by time. Each call begins after the end of the call before it. */
  readonly calls: readonly Call[];
}

/** The lanes of each rank that has calls. Lanes are sorted by thread; outer calls are above inner calls. */
export function layOut(calls: readonly Call[]): Map<number, Lane[]> {
  const ordered = [...calls].sort((a, b) =>
    a.rank - b.rank || a.thread - b.thread || a.begin_ns - b.begin_ns || b.end_ns - a.end_ns);
  const rows = new Map<number, { thread: number; calls: Call[]; endNs: number }[]>();
  for (const call of ordered) {
    let lanes = rows.get(call.rank);
    if (lanes === undefined) rows.set(call.rank, lanes = []);
    let lane = lanes.find((one) => one.thread === call.thread && one.endNs <= call.begin_ns);
    if (lane === undefined) lanes.push(lane = { thread: call.thread, calls: [], endNs: 0 });
    lane.calls.push(call);
    lane.endNs = call.end_ns;
  }
  return rows;
}

/** The index of the first call of a lane that ends after `ns`; the number of calls if there is none. */
export function firstAfter(lane: Lane, ns: number): number {
  let low = 0;
  let high = lane.calls.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.calls[middle]!.end_ns > ns) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The call at a time, or the nearest call within `slackNs`, so that users can point at thin calls. */
export function pick(lane: Lane, ns: number, slackNs: number): Call | null {
  const at = firstAfter(lane, ns);
  let best: Call | null = null;
  let least = slackNs;
  for (const call of [lane.calls[at - 1], lane.calls[at]]) {
    if (call === undefined) continue;
    const distance = Math.max(call.begin_ns - ns, ns - call.end_ns, 0);
    if (distance > least) continue;
    least = distance;
    best = call;
  }
  return best;
}

/**
 * The longest calls in a range of time and ranks, longest first. Equal calls are sorted by time, then by rank.
 */
export function longestOf(
    calls: readonly Call[], beginNs: number, endNs: number, firstRank: number, endRank: number,
    max: number): Call[] {
  const found: Call[] = [];
  const isBefore = (a: Call, b: Call): boolean =>
    (b.end_ns - b.begin_ns - (a.end_ns - a.begin_ns) || a.begin_ns - b.begin_ns || a.rank - b.rank) < 0;
  for (const call of calls) {
    if (call.begin_ns >= endNs || call.end_ns <= beginNs) continue;
    if (call.rank >= endRank || call.rank + 1 <= firstRank) continue;
    if (found.length === max && !isBefore(call, found[max - 1]!)) continue;
    let at = found.length;
    while (at > 0 && isBefore(call, found[at - 1]!)) --at;
    found.splice(at, 0, call);
    if (found.length > max) found.pop();
  }
  return found;
}
