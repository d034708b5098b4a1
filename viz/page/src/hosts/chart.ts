// One series of one host or rank over time: the mean as a line, the range from minimum to maximum as a band.

import uPlot from "uplot";

import type { Theme } from "../colours.ts";
import { el } from "../dom.ts";
import { kNone, moment } from "../format.ts";
import { columnsOf, type Line } from "./columns.ts";
import { withUnit } from "./names.ts";

/** All charts share one cursor, so that users can compare values at the same time. */
const kTogether = "hosts";
const kHeight = 130;

export interface Shown {
  readonly line: Line;
  readonly title: string;
  readonly unit: string;
  readonly beginNs: number;
  readonly endNs: number;
  readonly slotNs: number;
  readonly range: readonly [number, number];
  readonly theme: Theme;
}

export class Chart {
  readonly element: HTMLElement;
  private readonly title = el("b");
  private readonly reading = el("span", { class: "faint number", "data-value": "reading" });
  private readonly box = el("div", { class: "chart-box" });
  private readonly observer: ResizeObserver;
  private plot: uPlot | null = null;
  private shown: Shown | null = null;
  private isDark: boolean | null = null;

  constructor() {
    this.element = el("figure", { class: "chart" },
      el("figcaption", {}, this.title, this.reading), this.box);
    this.observer = new ResizeObserver(() => {
      const width = this.box.clientWidth;
      if (this.plot !== null && width > 0 && this.plot.width !== width) this.plot.setSize({ width, height: kHeight });
    });
    this.observer.observe(this.box);
  }

  show(shown: Shown): void {
    this.shown = shown;
    this.title.textContent = shown.title;
    if (this.plot === null || this.isDark !== shown.theme.isDark) {
      this.plot?.destroy();
      this.isDark = shown.theme.isDark;
      this.plot = new uPlot(this.options(shown.theme), this.columns(shown), this.box);
    } else {
      this.plot.setData(this.columns(shown));
    }
    const { canvas } = this.plot.ctx;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${shown.title} over time; its newest value stands above`);
    this.read(null);
  }

  end(): void {
    this.observer.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  private columns(shown: Shown): uPlot.AlignedData {
    return columnsOf(shown.line, shown.beginNs, shown.slotNs);
  }

  /** Shows the value below the cursor; without a cursor, the newest value. */
  private read(at: number | null): void {
    const { line, unit, slotNs, beginNs } = this.shown!;
    const seconds = at === null ? null : this.plot?.data[0][at];
    const slot = seconds === null || seconds === undefined ? null : Math.floor((seconds * 1e9 - beginNs) / slotNs);
    const point = slot === null ? line.points.at(-1) : line.points.find((one) => one.slot === slot);
    if (point === undefined) {
      this.reading.textContent = kNone;
      return;
    }
    const when = moment(beginNs + (point.slot + 0.5) * slotNs, slotNs);
    const isOne = point.samples === 1;
    const range = isOne ? "" : ` (${withUnit(point.min, unit)} to ${withUnit(point.max, unit)})`;
    this.reading.textContent = `${withUnit(point.mean, unit)}${range} at ${when}`;
  }

  private options(theme: Theme): uPlot.Options {
    const axis: uPlot.Axis = { stroke: theme.faint, grid: { stroke: theme.line, width: 1 }, ticks: { show: false },
                               font: "11px system-ui, 'DejaVu Sans', sans-serif" };
    const edge: uPlot.Series = { stroke: "transparent", points: { show: false } };
    return {
      width: Math.max(this.box.clientWidth, 200),
      height: kHeight,
      legend: { show: false },
      cursor: { sync: { key: kTogether }, y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false, range: () => [this.shown!.beginNs / 1e9, this.shown!.endNs / 1e9] },
        y: { range: () => [...this.shown!.range] },
      },
      axes: [
        { ...axis, size: 26, values: (_plot, splits) => splits.map((value) => `${value} s`) },
        { ...axis, size: 72, values: (_plot, splits) => splits.map((value) => withUnit(value, this.shown!.unit)) },
      ],
      series: [{}, edge, edge, { stroke: theme.accent, width: 1.5, points: { show: false } }],
      bands: [{ series: [1, 2], fill: `color-mix(in srgb, ${theme.accent} 25%, transparent)` }],
      hooks: { setCursor: [(plot) => this.read(plot.cursor.idx ?? null)] },
    };
  }
}
