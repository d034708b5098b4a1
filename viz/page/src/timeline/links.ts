// Draws how the calls of one collective belong together: a band from the begin to the end of its calls, rank by rank.

import type { Call } from "../answers.ts";
import type { Theme } from "../colours.ts";
import { duration, plural } from "../format.ts";
import { rankToY, timeToX, type Viewport } from "./viewport.ts";

/** Draws the band of the calls of a collective, which are sorted by rank. */
export function drawLinks(
    canvas: CanvasRenderingContext2D, width: number, height: number, view: Viewport, theme: Theme,
    calls: readonly Call[]): void {
  if (calls.length < 2) return;
  const far = 4 * width;
  const x = (ns: number): number => Math.min(Math.max(timeToX(view, ns, width), -far), width + far);
  const top = (call: Call): number => rankToY(view, call.rank, height);
  const bottom = (call: Call): number => rankToY(view, call.rank + 1, height);
  const side = (timeOf: (call: Call) => number, isUp: boolean): void => {
    for (const call of isUp ? [...calls].reverse() : calls) {
      canvas.lineTo(x(timeOf(call)), isUp ? bottom(call) : top(call));
      canvas.lineTo(x(timeOf(call)), isUp ? top(call) : bottom(call));
    }
  };
  canvas.beginPath();
  side((call) => call.begin_ns, false);
  side((call) => call.end_ns, true);
  canvas.closePath();
  canvas.fillStyle = theme.accent;
  canvas.globalAlpha = 0.18;
  canvas.fill();
  canvas.globalAlpha = 1;
  canvas.strokeStyle = theme.accent;
  canvas.lineWidth = 1.5;
  canvas.stroke();
}

/** Says which rank began the collective first and which last. */
export function linkText(calls: readonly Call[]): string {
  const first = calls.reduce((one, other) => other.begin_ns < one.begin_ns ? other : one);
  const last = calls.reduce((one, other) => other.begin_ns > one.begin_ns ? other : one);
  const which = `collective ${first.number} on communicator ${first.comm}: ${plural(calls.length, "call")} here`;
  if (calls.length < 2) return `${which}.`;
  return `${which}. Rank ${first.rank} began first, rank ${last.rank} last, ` +
    `${duration(last.begin_ns - first.begin_ns)} later.`;
}
