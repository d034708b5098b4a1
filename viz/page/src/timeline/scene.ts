// One answer of the timeline, prepared for drawing and for finding what the pointer is on.

import type { Call, Grid, Message, Timeline } from "../answers.ts";
import { timeShare } from "../grid.ts";
import { layOut, type Lane } from "./lanes.ts";
import type { Kept } from "./tile_store.ts";
import type { Tile } from "./tiles.ts";
import type { Viewport } from "./viewport.ts";

export interface Scene {
  readonly answer: Timeline;
  readonly lanes: ReadonlyMap<number, readonly Lane[]>;
  /** The share of time in MPI, from windows or as densities; null if there are single calls, or no windows. */
  readonly grid: Grid | null;
  /** Start of the grid's first slot. The server extends grids to whole windows. */
  readonly gridBeginNs: number;
  /** Calls of collective functions with a number, by collectiveOf(). */
  readonly collectives: ReadonlyMap<string, readonly Call[]>;
  /** Some calls still last: the answer becomes old when they return. */
  readonly hasOpenCalls: boolean;
  /** Calls are recorded, but not all are in the answer. A smaller tile would have more of them. */
  readonly isTooMuch: boolean;
}

export function sceneOf(answer: Timeline): Scene {
  const grid = answer.detail === "windows" ? answer.windows : answer.densities ?? null;
  return {
    answer,
    lanes: layOut(answer.calls),
    grid: grid === null || grid.columns === 0 ? null : grid,
    gridBeginNs: answer.scope.begin_ns,
    collectives: collectivesOf(answer.calls),
    hasOpenCalls: answer.calls.some((call) => call.is_open === true && !call.has_ended && !call.host_lost),
    isTooMuch: answer.detail === "densities" || answer.too_many,
  };
}

/** Says which collective a call is part of; null: the call is no collective, or its number is unknown. */
export function collectiveOf(call: Call): string | null {
  if (call.class !== "collective" || call.number === undefined || call.comm === null) return null;
  return `${call.comm}/${call.number}`;
}

/** The calls of each collective, sorted by rank. Processes may call another one with the same number by mistake. */
function collectivesOf(calls: readonly Call[]): Map<string, Call[]> {
  const found = new Map<string, Call[]>();
  for (const call of calls) {
    const key = collectiveOf(call);
    if (key === null) continue;
    const others = found.get(key);
    if (others === undefined) found.set(key, [call]);
    else others.push(call);
  }
  for (const others of found.values()) others.sort((a, b) => a.rank - b.rank || a.begin_ns - b.begin_ns);
  return found;
}

/** The calls of a call's collective, with itself; none if the call is no collective. */
export function linkedWith(scene: Scene, call: Call): readonly Call[] {
  const key = collectiveOf(call);
  return key === null ? [] : scene.collectives.get(key) ?? [];
}

/** A message of which both ends are known. */
export function isPaired(message: Message): message is Message & { sent_ns: number; received_ns: number } {
  return message.sent_ns !== null && message.received_ns !== null;
}

/** The best answer for a view; null: no answer has a part of it. */
export function bestOf(kept: readonly Kept<Scene>[], view: Viewport): Scene | null {
  let best: Scene | null = null;
  let max = 0;
  for (const { tile, answer, isOld } of kept) {
    const worth = worthOf(tile, answer, view) * (isOld ? kOld : 1);
    if (worth <= max) continue;
    max = worth;
    best = answer;
  }
  return best;
}

const kDetails: Readonly<Record<Timeline["detail"], number>> = { calls: 1, densities: 0.6, windows: 0.3 };

/** Factor for old answers: a new answer with less detail is better, a new answer for half of the screen is not. */
const kOld = 0.7;

function worthOf(tile: Tile, scene: Scene, view: Viewport): number {
  const time = overlap(tile.beginNs, tile.endNs, view.beginNs, view.endNs);
  const ranks = overlap(tile.firstRank, tile.endRank, view.firstRank, view.endRank);
  // A wider answer is coarser. An answer for the whole screen is always better than one for half of it.
  const fineness = Math.min((view.endNs - view.beginNs) / (tile.endNs - tile.beginNs), 1);
  const detail = kDetails[scene.answer.detail];
  return time * ranks * (3 + detail + 0.3 * fineness);
}

/** The share of [begin, end) that [first, last) covers. */
function overlap(first: number, last: number, begin: number, end: number): number {
  return Math.max(0, Math.min(last, end) - Math.max(first, begin)) / (end - begin);
}

/** The share of the watched time of a grid's cell that is in MPI. */
export function shareOf(grid: Grid, row: number, column: number): number {
  return timeShare(grid.rows[row]!, column) ?? 0;
}

/** Returns whether a call sent or received a message. */
export function isOf(message: Message, call: Call): boolean {
  return (message.source === call.rank && message.sent_ns === call.begin_ns) ||
    (message.destination === call.rank && message.received_ns === call.end_ns);
}

/**
 * The call with this rank, function and duration, at exactly this time or, if only its window is known, within it. A
 * call that had not returned may have become longer since.
 */
export function callLike(
    scene: Scene,
    like: { rank: number; function: string; beginNs: number; endNs: number; durationNs: number; isOpen?: boolean },
): Call | null {
  const isExact = like.endNs - like.beginNs === like.durationNs;
  const alike = scene.answer.calls.filter((call) => call.rank === like.rank && call.function === like.function);
  return alike.find((call) => call.end_ns - call.begin_ns === like.durationNs &&
    (isExact ? call.begin_ns === like.beginNs : call.begin_ns < like.endNs && call.end_ns > like.beginNs)) ??
    alike.find((call) => like.isOpen === true && call.begin_ns === like.beginNs && call.end_ns > like.endNs) ?? null;
}
