// Draws ranks x time on a canvas: windows or densities, calls with their names, messages, the links of a collective, the
// ruler, an axis above and the ranks at the left.
// The work is limited by the size of the screen and of one answer, not by the run.

import type { Call, Message } from "../answers.ts";
import { classColour, type Theme } from "../colours.ts";
import { moment } from "../format.ts";
import { arrowsOf } from "./arrows.ts";
import { kGapFrom, laneBox, lineOf } from "./geometry.ts";
import { fitting, inkOn, multiples, roundStep } from "./labels.ts";
import { firstAfter, type Lane } from "./lanes.ts";
import { drawLinks } from "./links.ts";
import { drawRuler, type Ruler } from "./ruler.ts";
import { isPaired, linkedWith, type Scene } from "./scene.ts";
import type { Segment } from "./segments.ts";
import { rankToY, timeToX, type Viewport } from "./viewport.ts";
import type { Windows } from "./windows.ts";

export interface Picture {
  readonly view: Viewport;
  readonly scene: Scene | null;
  readonly windows: Windows;
  readonly ranks: number;
  /** The selected rank; null: all. */
  readonly rank: number | null;
  readonly theme: Theme;
  readonly chosen: Call | null;
  readonly hovered: Call | Message | null;
  readonly hasMessages: boolean;
  readonly ruler: Ruler | null;
}

/** In pixels: the margins of the axis and of the ranks' names. */
export const kTop = 24;
export const kLeft = 64;

/** Minimum height of a lane with names of calls, in pixels. */
const kNameFrom = 11;
const kLetter = 6.2;
/** Size of the teeth at the end of a call that has not returned, in pixels. */
const kTooth = 6;

type Canvas = CanvasRenderingContext2D;

export function draw(canvas: Canvas, width: number, height: number, picture: Picture): void {
  const { theme } = picture;
  canvas.fillStyle = theme.surface;
  canvas.fillRect(0, 0, width, height);
  const plot = { width: Math.max(width - kLeft, 1), height: Math.max(height - kTop, 1) };
  drawTimes(canvas, plot.width, height, picture);
  canvas.save();
  canvas.beginPath();
  canvas.rect(kLeft, kTop, plot.width, plot.height);
  canvas.clip();
  canvas.translate(kLeft, kTop);
  if (picture.scene !== null) {
    picture.windows.draw(canvas, plot.width, plot.height, picture.view, theme, picture.scene);
    drawCalls(canvas, plot.width, plot.height, picture, picture.scene);
    if (picture.hasMessages) drawMessages(canvas, plot.width, plot.height, picture, picture.scene);
    drawCollective(canvas, plot.width, plot.height, picture, picture.scene);
  }
  if (picture.ruler !== null) drawRuler(canvas, plot.width, plot.height, picture.view, theme, picture.ruler);
  canvas.restore();
  drawRanks(canvas, plot.height, picture);
}

function drawTimes(canvas: Canvas, width: number, height: number, { view, theme }: Picture): void {
  const step = roundStep(view.endNs - view.beginNs, width / 110);
  canvas.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  canvas.textBaseline = "middle";
  canvas.textAlign = "center";
  canvas.lineWidth = 1;
  for (const ns of multiples(view.beginNs, view.endNs, step)) {
    const x = kLeft + timeToX(view, ns, width);
    canvas.fillStyle = theme.line;
    canvas.fillRect(Math.round(x), kTop - 5, 1, height);
    canvas.fillStyle = theme.faint;
    if (x > kLeft + 30 && x < kLeft + width - 30) canvas.fillText(moment(ns, step), x, kTop / 2 - 1);
  }
}

function drawRanks(canvas: Canvas, height: number, { view, theme, ranks, rank: chosen }: Picture): void {
  canvas.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  canvas.textBaseline = "middle";
  canvas.textAlign = "right";
  const step = Math.ceil(roundStep(view.endRank - view.firstRank, height / 16));
  for (const rank of multiples(Math.floor(view.firstRank), Math.min(view.endRank, ranks - 1), step)) {
    const y = kTop + rankToY(view, rank + 0.5, height);
    if (y < kTop + 4) continue;
    canvas.fillStyle = rank === chosen ? theme.accent : theme.faint;
    canvas.fillText(`rank ${rank}`, kLeft - 8, y);
  }
}

function drawCalls(canvas: Canvas, width: number, height: number, picture: Picture, scene: Scene): void {
  const { view, theme } = picture;
  canvas.textAlign = "left";
  for (let rank = Math.max(Math.floor(view.firstRank), 0); rank < view.endRank; ++rank) {
    const lanes = scene.lanes.get(rank) ?? [];
    const line = rankToY(view, rank + 1, height);
    if (line - rankToY(view, rank, height) >= kGapFrom) {
      canvas.fillStyle = theme.line;
      canvas.fillRect(0, Math.round(line), width, 1);
    }
    lanes.forEach((lane, index) => {
      const box = laneBox(view, rank, index, lanes.length, height);
      drawLane(canvas, width, lane, box, picture);
    });
  }
}

/** Draws wide calls one by one, and narrow calls of one pixel together, as strong as the share that they cover. */
function drawLane(
    canvas: Canvas, width: number, lane: Lane, box: { top: number; height: number },
    { view, chosen, hovered, theme }: Picture): void {
  let thinAt = -1;
  let thinWidth = 0;
  let thinColour = "";
  const flush = (): void => {
    if (thinWidth > 0) {
      canvas.globalAlpha = Math.min(0.5 + 0.5 * thinWidth, 1);
      canvas.fillStyle = thinColour;
      canvas.fillRect(thinAt, box.top, 1, box.height);
      canvas.globalAlpha = 1;
    }
    thinWidth = 0;
  };
  for (let at = firstAfter(lane, view.beginNs); at < lane.calls.length; ++at) {
    const call = lane.calls[at]!;
    if (call.begin_ns >= view.endNs) break;
    const left = timeToX(view, call.begin_ns, width);
    const wide = timeToX(view, call.end_ns, width) - left;
    const colour = classColour(call.class);
    if (wide < 1.5) {
      if (Math.floor(left) !== thinAt) flush();
      thinAt = Math.floor(left);
      thinWidth += Math.max(wide, 0.02);
      thinColour = colour;
    } else {
      drawCall(canvas, call, colour, { ...box, left, width: wide }, width);
      if (call.is_open) drawOpenEnd(canvas, left + wide, box, theme.surface);
    }
    if (call === chosen || call === hovered) {
      canvas.strokeStyle = theme.text;
      canvas.lineWidth = call === chosen ? 2 : 1;
      canvas.strokeRect(Math.max(left, -4), box.top + 1, Math.min(wide, width + 8), box.height - 2);
    }
  }
  flush();
}

function drawCall(
    canvas: Canvas, call: Call, colour: string,
    box: { left: number; top: number; width: number; height: number }, width: number): void {
  const left = Math.max(box.left, -2);
  const right = Math.min(box.left + box.width, width + 2);
  canvas.fillStyle = colour;
  // A wide call leaves half a pixel free, so that its edge can be seen.
  canvas.fillRect(left, box.top, right - left - (right - left > 4 ? 0.5 : 0), box.height);
  if (box.height < kNameFrom) return;
  // The name stays on the screen while a part of its call is on the screen.
  const from = Math.max(left, 0) + 4;
  const text = fitting(call.function, right - from - 4, kLetter);
  if (text === "") return;
  canvas.fillStyle = inkOn(colour);
  canvas.fillText(text, from, box.top + box.height / 2);
}

/** The end of a call that has not returned looks torn off. */
function drawOpenEnd(canvas: Canvas, right: number, box: { top: number; height: number }, surface: string): void {
  const tooth = Math.min(kTooth, box.height / 2);
  canvas.fillStyle = surface;
  canvas.beginPath();
  for (let top = box.top; top < box.top + box.height - 0.5; top += tooth) {
    canvas.moveTo(right + 1, top);
    canvas.lineTo(right - tooth, top + tooth / 2);
    canvas.lineTo(right + 1, top + tooth);
  }
  canvas.fill();
}

/** The links of the collective that the pointer is on, or of the selected one. */
function drawCollective(canvas: Canvas, width: number, height: number, picture: Picture, scene: Scene): void {
  const { hovered, chosen, view, theme } = picture;
  for (const call of [hovered, chosen]) {
    if (call === null || !("begin_ns" in call)) continue;
    const calls = linkedWith(scene, call);
    if (calls.length > 1) return drawLinks(canvas, width, height, view, theme, calls);
  }
}

function drawMessages(canvas: Canvas, width: number, height: number, picture: Picture, scene: Scene): void {
  const { view, theme, hovered } = picture;
  const { shown, inView } = arrowsOf(scene, view, width, height);
  if (inView > shown.length) canvas.globalAlpha = 0.35;
  const ends = new Path2D();
  canvas.beginPath();
  for (const { message, line, endsHere } of shown) {
    if (isPaired(message)) trace(canvas, line, endsHere);
    else traceStub(ends, line, message.sent_ns === null);
  }
  canvas.lineWidth = 1;
  canvas.strokeStyle = theme.text;
  canvas.globalAlpha *= 0.75;
  canvas.stroke();
  canvas.stroke(ends);
  canvas.globalAlpha = 1;
  if (hovered !== null && "sent_ns" in hovered && isPaired(hovered)) {
    canvas.beginPath();
    trace(canvas, lineOf(view, hovered, width, height), true);
    canvas.lineWidth = 3;
    canvas.strokeStyle = theme.accent;
    canvas.stroke();
  }
}

/** A short line with an open ring at the end that is unknown. */
function traceStub(path: Path2D, { x1, y1, x2, y2 }: Segment, isSendUnknown: boolean): void {
  path.moveTo(x1, y1);
  path.lineTo(x2, y2);
  const [x, y] = isSendUnknown ? [x1, y1] : [x2, y2];
  path.moveTo(x + 3.5, y);
  path.arc(x, y, 3.5, 0, 2 * Math.PI);
}

/** A line, with an arrow head at its end if `hasHead`. */
function trace(canvas: Canvas, { x1, y1, x2, y2 }: Segment, hasHead: boolean): void {
  canvas.moveTo(x1, y1);
  canvas.lineTo(x2, y2);
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (!hasHead || length < 12) return;
  const [across, down] = [(x2 - x1) / length, (y2 - y1) / length];
  canvas.moveTo(x2 - 7 * across - 3 * down, y2 - 7 * down + 3 * across);
  canvas.lineTo(x2, y2);
  canvas.lineTo(x2 - 7 * across + 3 * down, y2 - 7 * down - 3 * across);
}
