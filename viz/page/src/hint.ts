// The box beside the pointer, with the exact values of the thing below the pointer.

import { el, fill, type Child } from "./dom.ts";

const kGap = 14;

export class Hint {
  readonly element = el("div", { class: "hint", role: "status" });

  /** Adds the box to `parent`, usually a view's root. */
  constructor(parent: HTMLElement) {
    this.element.hidden = true;
    parent.append(this.element);
  }

  /** Shows the box beside the pointer, inside the window if it fits. */
  show(event: MouseEvent, ...children: Child[]): void {
    fill(this.element, ...children);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const right = event.clientX + kGap;
    const below = event.clientY + kGap;
    const left = right + width > innerWidth ? event.clientX - kGap - width : right;
    const top = below + height > innerHeight ? event.clientY - kGap - height : below;
    this.element.style.left = `${Math.max(0, left)}px`;
    this.element.style.top = `${Math.max(0, top)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}

/** Lines of names and values, for a hint. */
export function lines(...pairs: readonly (readonly [string, Child])[]): HTMLElement {
  const list = el("dl");
  for (const [name, value] of pairs) list.append(el("dt", {}, name), el("dd", {}, value));
  return list;
}
