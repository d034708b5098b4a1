// The messages that have a line on the plot. The same list is drawn, counted in the text and found by the pointer.

import type { Message } from "../answers.ts";
import { lineOf } from "./geometry.ts";
import type { Scene } from "./scene.ts";
import { clip, type Segment } from "./segments.ts";
import type { Viewport } from "./viewport.ts";

/** Maximum number of lines. More lines would be a grey cloud. */
export const kMaxArrows = 2000;

export interface Arrow {
  readonly message: Message;
  /** The part of the line that is on the plot. */
  readonly line: Segment;
  /** The end of the line is where the message is received, not the edge of the plot. */
  readonly endsHere: boolean;
}

export interface Arrows {
  /** At most kMaxArrows. If more messages cross the plot, the largest of them. */
  readonly shown: readonly Arrow[];
  /** Number of messages of the answer that cross the plot. */
  readonly inView: number;
}

/** The arrows of messages from one rank to another. A message of a rank to itself would be a line across its calls. */
export function arrowsOf(scene: Scene, view: Viewport, width: number, height: number): Arrows {
  const found: Arrow[] = [];
  for (const message of scene.answer.messages) {
    if (message.source === message.destination) continue;
    const whole = lineOf(view, message, width, height);
    const line = clip(whole, width, height);
    if (line === null) continue;
    const endsHere = whole.x2 >= 0 && whole.x2 <= width && whole.y2 >= 0 && whole.y2 <= height;
    found.push({ message, line, endsHere });
  }
  const inView = found.length;
  if (inView > kMaxArrows) found.sort((a, b) => b.message.bytes - a.message.bytes).splice(kMaxArrows);
  return { shown: found, inView };
}
