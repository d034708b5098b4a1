// The ruler: the length of time between two points.

import type { Theme } from "../colours.ts";
import { duration } from "../format.ts";
import { timeToX, type Viewport } from "./viewport.ts";

/** Two times, in the order in which the user has chosen them. */
export interface Ruler {
  readonly fromNs: number;
  readonly toNs: number;
}

export function rulerText({ fromNs, toNs }: Ruler): string {
  return duration(Math.abs(toNs - fromNs));
}

export function drawRuler(
    canvas: CanvasRenderingContext2D, width: number, height: number, view: Viewport, theme: Theme,
    ruler: Ruler): void {
  const left = timeToX(view, Math.min(ruler.fromNs, ruler.toNs), width);
  const right = timeToX(view, Math.max(ruler.fromNs, ruler.toNs), width);
  const isInView = (x: number): boolean => x >= 0 && x <= width;
  if (!isInView(left) && !isInView(right)) return;  // A band over everything would only be in the way.
  const [from, to] = [Math.max(left, -2), Math.min(right, width + 2)];
  canvas.fillStyle = theme.accent;
  canvas.globalAlpha = 0.15;
  canvas.fillRect(from, 0, to - from, height);
  canvas.globalAlpha = 1;
  for (const x of [left, right]) canvas.fillRect(Math.round(x) - 0.5, 0, 1, height);
  const text = rulerText(ruler);
  canvas.font = "600 12px system-ui, 'DejaVu Sans', sans-serif";
  canvas.textAlign = "center";
  canvas.textBaseline = "middle";
  const half = canvas.measureText(text).width / 2 + 6;
  const middle = Math.min(Math.max((Math.max(left, 0) + Math.min(right, width)) / 2, half), width - half);
  canvas.fillRect(middle - half, 4, 2 * half, 20);
  canvas.fillStyle = theme.surface;
  canvas.fillText(text, middle, 14.5);
}
