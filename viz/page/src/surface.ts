// A canvas that fills its box at the screen's own resolution.

import { el } from "./dom.ts";

export class Surface {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** In the pixels of the style sheet; the context is scaled to them. */
  width = 0;
  height = 0;
  private readonly observer: ResizeObserver;

  /** `label` says what it shows to those who cannot see it; `resized` is called when it must be drawn anew. */
  constructor(label: string, resized: () => void) {
    this.element = el("canvas", { role: "img", "aria-label": label, tabindex: 0 });
    this.context = this.element.getContext("2d", { alpha: false })!;
    this.observer = new ResizeObserver(() => {
      if (this.fit()) resized();
    });
    this.observer.observe(this.element);
  }

  /** Takes the size of its box. True when that has changed it, which empties it. */
  fit(): boolean {
    const box = this.element.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.element.width === width && this.element.height === height) return false;
    this.element.width = width;
    this.element.height = height;
    this.width = width / ratio;
    this.height = height / ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return true;
  }

  label(text: string): void {
    this.element.setAttribute("aria-label", text);
  }

  /** Where a pointer is, in its own pixels. */
  at(event: MouseEvent): { x: number; y: number } {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  end(): void {
    this.observer.disconnect();
  }
}
