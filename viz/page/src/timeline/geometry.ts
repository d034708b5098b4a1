// Positions of lanes and messages on the plot, in pixels, for drawing and for finding what the pointer is on.

import type { Message } from "../answers.ts";
import { arrivalOf } from "./scene.ts";
import type { Segment } from "./segments.ts";
import { rankToY, timeToX, type Viewport } from "./viewport.ts";

/** Minimum height of rows that are drawn with a gap between them, in pixels. */
export const kGapFrom = 8;

/** The position of a lane of a rank that has `lanes` lanes. */
export function laneBox(
    view: Viewport, rank: number, lane: number, lanes: number, height: number): { top: number; height: number } {
  const begin = rankToY(view, rank, height);
  const row = rankToY(view, rank + 1, height) - begin;
  const gap = row >= kGapFrom ? Math.min(row * 0.12, 4) : 0;
  const each = (row - 2 * gap) / lanes;
  return { top: begin + gap + lane * each, height: each };
}

/** The line of a message from the middle of a row to the middle of another one. */
export function lineOf(view: Viewport, message: Message, width: number, height: number): Segment {
  return {
    x1: timeToX(view, message.sent_ns, width),
    y1: rankToY(view, message.source + 0.5, height),
    x2: timeToX(view, arrivalOf(message), width),
    y2: rankToY(view, message.destination + 0.5, height),
  };
}
