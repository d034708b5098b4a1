// A canvas that fills its box, at the resolution of the screen.

import { el } from "./dom.ts";

export class Surface {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** In the pixels of the style sheet; the context is scaled to them. */
  width = 0;
  height = 0;
  private readonly observer: ResizeObserver;

  /** `label` is the text for screen readers. `resized` is called when the canvas must be drawn again. */
  constructor(label: string, resized: () => void) {
    this.element = el("canvas", { role: "img", "aria-label": label, tabindex: 0 });
    this.context = this.element.getContext("2d", { alpha: false })!;
    this.observer = new ResizeObserver(() => {
      if (this.fit()) resized();
    });
    this.observer.observe(this.element);
  }

  /** Sets the canvas to the size of its box. Returns true if the size has changed; the canvas is then empty. */
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

  /** The position of a pointer in the canvas's own pixels. */
  at(event: MouseEvent): { x: number; y: number } {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  end(): void {
    this.observer.disconnect();
  }
}
