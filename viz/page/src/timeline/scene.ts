// What one answer of the timeline holds, made ready to be drawn and hit.

import type { Call, Grid, Message, Timeline } from "../answers.ts";
import { layOut, type Lane } from "./lanes.ts";
import type { Kept } from "./tile_store.ts";
import type { Tile } from "./tiles.ts";
import type { Viewport } from "./viewport.ts";

export interface Scene {
  readonly answer: Timeline;
  readonly lanes: ReadonlyMap<number, readonly Lane[]>;
  /** Share of time in MPI, where there are no single calls. */
  readonly grid: Grid | null;
  /** Where the grid's first slot begins: grids are widened to whole windows. */
  readonly gridBeginNs: number;
  /** All calls of the tile are here. */
  readonly isComplete: boolean;
  /** Not all calls are here, though they are recorded: of less, more of them would be. */
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
    isTooMuch: hasCalls ? !isComplete : answer.too_many,
  };
}

/** The answer that serves a screen best, or null when none shows any of it. */
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

/** An old answer gives way to a new one that has less detail, but not to one of half the screen. */
const kOld = 0.7;

function worthOf(tile: Tile, scene: Scene, view: Viewport): number {
  const time = overlap(tile.beginNs, tile.endNs, view.beginNs, view.endNs);
  const ranks = overlap(tile.firstRank, tile.endRank, view.firstRank, view.endRank);
  // A wider answer is coarser; half the screen is worth less than all of it in any detail.
  const fineness = Math.min((view.endNs - view.beginNs) / (tile.endNs - tile.beginNs), 1);
  const detail = scene.isComplete ? 1 : scene.answer.detail === "calls" ? 0.6 : 0.3;
  return time * ranks * (3 + detail + 0.3 * fineness);
}

/** The share of [begin, end) that [first, last) covers. */
function overlap(first: number, last: number, begin: number, end: number): number {
  return Math.max(0, Math.min(last, end) - Math.max(first, begin)) / (end - begin);
}

/** The share of time in MPI of a grid's cell; of several threads it may be above 1. */
export function shareOf(grid: Grid, row: number, column: number): number {
  const { cells, ranks } = grid.rows[row]!;
  return (cells[column] ?? 0) / (grid.slot_ns * ranks);
}

/** When a message is drawn to arrive. */
export function arrivalOf(message: Message): number {
  return message.received_ns ?? message.sent_ns;
}

/** Whether a message belongs to a call: it left in it, or arrived in it. */
export function isOf(message: Message, call: Call): boolean {
  return (message.source === call.rank && message.sent_ns === call.begin_ns) ||
    (message.destination === call.rank && message.received_ns === call.end_ns);
}

/** The call of a rank and function that lasts as long and meets a time, or lies exactly there; null: it is not here. */
export function callLike(
    scene: Scene,
    like: { rank: number; function: string; beginNs: number; endNs: number; durationNs: number }): Call | null {
  const isExact = like.endNs - like.beginNs === like.durationNs;
  return scene.answer.calls.find((call) =>
    call.rank === like.rank && call.function === like.function && call.end_ns - call.begin_ns === like.durationNs &&
    (isExact ? call.begin_ns === like.beginNs : call.begin_ns < like.endNs && call.end_ns > like.beginNs)) ?? null;
}
