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
  /** The share of time in MPI; null if there are single calls, or no windows. */
  readonly grid: Grid | null;
  /** Start of the grid's first slot. The server extends grids to whole windows. */
  readonly gridBeginNs: number;
  /** The answer has all calls of the tile. */
  readonly isComplete: boolean;
  /** Some calls still last: the answer becomes old when they return. */
  readonly hasOpenCalls: boolean;
  /** Calls are recorded, but not all are in the answer. A smaller tile would have more of them. */
  readonly isTooMuch: boolean;
}

export function sceneOf(answer: Timeline): Scene {
  const hasCalls = answer.detail === "calls";
  const isComplete = hasCalls && answer.calls.length === answer.calls_in_all;
  return {
    answer,
    lanes: layOut(answer.calls),
    grid: hasCalls || answer.windows.columns === 0 ? null : answer.windows,
    gridBeginNs: answer.scope.begin_ns,
    isComplete,
    hasOpenCalls: answer.calls.some((call) => call.is_open === true && !call.has_ended && !call.host_lost),
    isTooMuch: hasCalls ? !isComplete : answer.too_many,
  };
}

/** The best answer for a view; null: no answer has a part of it. */
export function bestOf(kept: readonly Kept<Scene>[], view: Viewport): Scene | null {
  let best: Scene | null = null;
  let most = 0;
  for (const { tile, answer, isOld } of kept) {
    const worth = worthOf(tile, answer, view) * (isOld ? kOld : 1);
    if (worth <= most) continue;
    most = worth;
    best = answer;
  }
  return best;
}

/** Factor for old answers: a new answer with less detail is better, a new answer for half of the screen is not. */
const kOld = 0.7;

function worthOf(tile: Tile, scene: Scene, view: Viewport): number {
  const time = overlap(tile.beginNs, tile.endNs, view.beginNs, view.endNs);
  const ranks = overlap(tile.firstRank, tile.endRank, view.firstRank, view.endRank);
  // A wider answer is coarser. An answer for the whole screen is always better than one for half of it.
  const fineness = Math.min((view.endNs - view.beginNs) / (tile.endNs - tile.beginNs), 1);
  const detail = scene.isComplete ? 1 : scene.answer.detail === "calls" ? 0.6 : 0.3;
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

/** The time at which a message is drawn to arrive. */
export function arrivalOf(message: Message): number {
  return message.received_ns ?? message.sent_ns;
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
