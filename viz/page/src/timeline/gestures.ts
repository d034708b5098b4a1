// Gestures on the timeline, as on a map: the wheel zooms the time around the pointer (with Shift the ranks), a drag
// pans, two fingers zoom, a click selects. With Shift, or in the mode for it, a drag measures a length of time.

import type { Ruler } from "./ruler.ts";
import * as viewports from "./viewport.ts";
import type { Bounds, Viewport } from "./viewport.ts";

export interface GesturesOwner {
  /** Null: there is no data yet. */
  view(): Viewport | null;
  bounds(): Bounds | null;
  /** In pixels: the part of the canvas where ranks x time is drawn. */
  plot(): { left: number; top: number; width: number; height: number };
  /** Called up to a hundred times a second, so it must be quick: no requests, no layout. */
  moveTo(view: Viewport): void;
  /** The pointer moves without a pressed button; null: it has left, or a drag has begun. */
  point(event: MouseEvent | null): void;
  choose(event: MouseEvent): void;
  /** Whether a drag measures time instead of moving the view. With Shift it always does. */
  isMeasuring(): boolean;
  /** The two times of the ruler; null: the user has clicked without a drag. */
  measure(ruler: Ruler | null): void;
}

/** One notch of most wheels is 100 pixels. It zooms by about a quarter. */
const kZoomPerPixel = 0.0022;
/** Less than this many pixels is a click. */
const kClick = 4;
/** Size of the wheel's unit in pixels, by deltaMode: pixel, line, page. */
const kPixels: Readonly<Record<number, number>> = { 0: 1, 1: 16, 2: 400 };

export class Gestures {
  private readonly fingers = new Map<number, PointerEvent>();
  private moved = 0;
  /** Where the ruler begins, while it is drawn. */
  private measuredFrom: number | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly owner: GesturesOwner) {
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => {
      this.fingers.delete(event.pointerId);
      this.measuredFrom = null;
    });
    canvas.addEventListener("pointerleave", () => owner.point(null));
    canvas.addEventListener("dblclick", (event) => this.zoom(event, 0.4, false));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const pixels = kPixels[event.deltaMode] ?? 1;
    const down = event.deltaY * pixels;
    const across = event.deltaX * pixels;
    // With Shift, browsers report the wheel as horizontal.
    if (event.shiftKey) return this.zoom(event, Math.exp((down + across) * kZoomPerPixel), true);
    if (Math.abs(across) > Math.abs(down)) return this.pan(-across, 0);
    const { left } = this.owner.plot();
    this.zoom(event, Math.exp(down * kZoomPerPixel), event.offsetX < left);
  }

  private zoom(event: MouseEvent, factor: number, isOfRanks: boolean): void {
    const { left, top, width, height } = this.owner.plot();
    const view = this.owner.view();
    const bounds = this.owner.bounds();
    if (view === null || bounds === null) return;
    const across = Math.min(Math.max((event.offsetX - left) / width, 0), 1);
    const down = Math.min(Math.max((event.offsetY - top) / height, 0), 1);
    this.owner.moveTo(isOfRanks
      ? viewports.zoomRanks(view, bounds, factor, down)
      : viewports.zoomTime(view, bounds, factor, across));
  }

  /** Moves by pixels, so that the drawing follows the finger. */
  private pan(across: number, down: number): void {
    const { width, height } = this.owner.plot();
    const view = this.owner.view();
    const bounds = this.owner.bounds();
    if (view === null || bounds === null) return;
    this.owner.moveTo(viewports.pan(view, bounds, -across / width, -down / height));
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, event);
    if (this.fingers.size > 1) this.measuredFrom = null;
    if (this.fingers.size !== 1) return;
    this.moved = 0;
    this.measuredFrom = event.shiftKey || this.owner.isMeasuring() ? this.timeAt(event) : null;
  }

  private timeAt(event: MouseEvent): number | null {
    const view = this.owner.view();
    const { left, width } = this.owner.plot();
    return view === null ? null : viewports.xToTime(view, Math.min(Math.max(event.offsetX - left, 0), width), width);
  }

  private move(event: PointerEvent): void {
    const before = this.fingers.get(event.pointerId);
    if (before === undefined) {
      this.owner.point(event);
      return;
    }
    const across = event.offsetX - before.offsetX;
    const down = event.offsetY - before.offsetY;
    this.moved += Math.abs(across) + Math.abs(down);
    if (this.fingers.size === 2) this.pinch(event);
    else if (this.moved >= kClick && this.measuredFrom !== null) this.measure(event);
    else if (this.moved >= kClick) this.pan(across, down);
    if (this.moved >= kClick) this.owner.point(null);
    this.fingers.set(event.pointerId, event);
  }

  /** Zooms around the finger that does not move, by the change of the distance between the fingers. */
  private pinch(event: PointerEvent): void {
    const before = this.fingers.get(event.pointerId)!;
    const other = [...this.fingers.values()].find((one) => one.pointerId !== event.pointerId)!;
    const was = Math.hypot(before.offsetX - other.offsetX, before.offsetY - other.offsetY);
    const is = Math.hypot(event.offsetX - other.offsetX, event.offsetY - other.offsetY);
    if (was > 0 && is > 0) this.zoom(other, was / is, false);
  }

  private measure(event: MouseEvent): void {
    const to = this.timeAt(event);
    if (to !== null) this.owner.measure({ fromNs: this.measuredFrom!, toNs: to });
  }

  private up(event: PointerEvent): void {
    if (!this.fingers.delete(event.pointerId)) return;
    const wasMeasuring = this.measuredFrom !== null;
    this.measuredFrom = null;
    if (wasMeasuring && this.moved >= kClick) return;
    if (wasMeasuring) this.owner.measure(null);
    if (this.moved < kClick && this.fingers.size === 0) this.owner.choose(event);
  }
}
