// Finds what is at a point of the timeline. Points are in pixels of the plot; its upper left corner is 0, 0.

import type { Call, Message } from "../answers.ts";
import { classIn } from "../grid.ts";
import { arrowsOf } from "./arrows.ts";
import { laneBox } from "./geometry.ts";
import { pick } from "./lanes.ts";
import { shareOf, type Scene } from "./scene.ts";
import { distance } from "./segments.ts";
import { xToTime, yToRank, type Viewport } from "./viewport.ts";

/** Maximum distance from a thin call or a line, in pixels. */
export const kNear = 4;

export interface Point {
  readonly x: number;
  readonly y: number;
  /** Size of the plot. */
  readonly width: number;
  readonly height: number;
}

export function callAt(scene: Scene, view: Viewport, { x, y, width, height }: Point): Call | null {
  const rank = Math.floor(yToRank(view, y, height));
  const lanes = scene.lanes.get(rank) ?? [];
  if (x < 0 || y < 0) return null;
  const slack = (kNear / width) * (view.endNs - view.beginNs);
  for (const [index, lane] of lanes.entries()) {
    const box = laneBox(view, rank, index, lanes.length, height);
    if (y >= box.top && y < box.top + box.height) return pick(lane, xToTime(view, x, width), slack);
  }
  return null;
}

/** The message with the nearest line. A message of which one end is unknown has a short line. */
export function messageAt(scene: Scene, view: Viewport, { x, y, width, height }: Point): Message | null {
  let nearest: Message | null = null;
  let least = kNear;
  for (const { message, line } of arrowsOf(scene, view, width, height).shown) {
    const apart = distance(line, x, y);
    if (apart < least) [nearest, least] = [message, apart];
  }
  return nearest;
}

export interface WindowHit {
  readonly firstRank: number;
  readonly ranks: number;
  readonly beginNs: number;
  readonly lengthNs: number;
  readonly share: number;
  /** In densities: the class with the most time. */
  readonly dominant: string | null;
}

export function windowAt(scene: Scene, view: Viewport, { x, y, width, height }: Point): WindowHit | null {
  const { grid, gridBeginNs } = scene;
  if (grid === null || x < 0 || y < 0) return null;
  const rank = yToRank(view, y, height);
  const index = grid.rows.findIndex((row) => rank >= row.first_rank && rank < row.first_rank + row.ranks);
  const column = Math.floor((xToTime(view, x, width) - gridBeginNs) / grid.slot_ns);
  const row = grid.rows[index];
  if (row === undefined || column < 0 || column >= grid.columns) return null;
  return {
    firstRank: row.first_rank,
    ranks: row.ranks,
    beginNs: gridBeginNs + column * grid.slot_ns,
    lengthNs: grid.slot_ns,
    share: shareOf(grid, index, column),
    dominant: scene.answer.detail === "densities" && (row.cells[column] ?? 0) > 0 ? classIn(grid, row, column) : null,
  };
}
