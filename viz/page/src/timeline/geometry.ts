// Positions of lanes and messages on the plot, in pixels, for drawing and for finding what the pointer is on.

import type { Message } from "../answers.ts";
import { isPaired } from "./scene.ts";
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

/** Length of the line of a message of which one end is unknown, in pixels. */
const kStub = 14;

/**
 * The line of a message from the middle of a row to the middle of another one. If one end is unknown, the line is
 * short: it leaves the known end towards the other rank, or comes from there.
 */
export function lineOf(view: Viewport, message: Message, width: number, height: number): Segment {
  const source = rankToY(view, message.source + 0.5, height);
  const destination = rankToY(view, message.destination + 0.5, height);
  if (isPaired(message)) {
    return { x1: timeToX(view, message.sent_ns, width), y1: source,
             x2: timeToX(view, message.received_ns, width), y2: destination };
  }
  const down = Math.min(kStub, 0.45 * Math.abs(destination - source)) * Math.sign(destination - source);
  if (message.sent_ns !== null) {
    const x = timeToX(view, message.sent_ns, width);
    return { x1: x, y1: source, x2: x + 0.6 * kStub, y2: source + down };
  }
  const x = timeToX(view, message.received_ns!, width);
  return { x1: x - 0.6 * kStub, y1: destination - down, x2: x, y2: destination };
}
