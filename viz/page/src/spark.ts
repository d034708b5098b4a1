// Small charts that fit into a line of a table.

import { el, svg } from "./dom.ts";

/** A series as an area, from 0 to its own maximum. `what` is the text for screen readers. */
export function spark(values: readonly number[], what: string): SVGSVGElement {
  const width = 120, height = 22;
  const max = Math.max(1e-300, ...values);
  const step = width / Math.max(1, values.length);
  let path = `M0 ${height}`;
  values.forEach((value, slot) => {
    const y = (height - (height - 1) * Math.max(0, value) / max).toFixed(1);
    path += `L${(slot * step).toFixed(1)} ${y}L${((slot + 1) * step).toFixed(1)} ${y}`;
  });
  path += `L${width} ${height}Z`;
  return svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
                      "aria-label": what },
    svg("title", {}, what), svg("path", { d: path }));
}

/** Bars of equal width, one for each class of a histogram. The title of a bar has its values. */
export function bars(classes: readonly { share: number; what: string }[], what: string): SVGSVGElement {
  const width = 120, height = 22;
  const max = Math.max(1e-300, ...classes.map((one) => one.share));
  const step = width / Math.max(1, classes.length);
  return svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
                      "aria-label": what },
    ...classes.map((one, number) => {
      // A class with calls always has a visible bar.
      const tall = one.share <= 0 ? 0 : Math.max(1.5, (height - 1) * one.share / max);
      return svg("rect", { x: (number * step).toFixed(2), y: (height - tall).toFixed(2),
                           width: Math.max(0.5, step - 0.6).toFixed(2), height: tall.toFixed(2) },
        svg("title", {}, one.what));
    }));
}

/** A share from 0 to 1, as a bar and as text. */
export function metered(share: number, text: string): HTMLElement {
  return el("span", { class: "with-meter" }, meter(share), el("span", {}, text));
}

/** A bar for a share from 0 to 1. */
export function meter(share: number): HTMLElement {
  const inner = el("span", { class: "meter-inner" });
  inner.style.width = `${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%`;
  return el("span", { class: "meter", "aria-hidden": "true" }, inner);
}
