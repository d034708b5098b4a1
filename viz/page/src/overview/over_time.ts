// A card of the overview: a small map of ranks x time, and charts of the share of MPI and of the hosts' processors.

import type { Ranks, Series } from "../answers.ts";
import { el, fill } from "../dom.ts";
import { moment } from "../format.ts";
import { timeShare } from "../grid.ts";
import { Heat, legend } from "../heat.ts";
import { Chart } from "../hosts/chart.ts";
import { rangeOf, type Line } from "../hosts/columns.ts";
import { Surface } from "../surface.ts";
import type { Page } from "../view.ts";
import { busyLine, mpiLine } from "./series.ts";

const kColumns = 160, kRows = 64, kDigits = 6;
/** Shares of a processor that a host was busy with programs and with the kernel. */
const kBusy = ["cpu.user", "cpu.system"] as const;

export class OverTime {
  readonly element: HTMLElement;
  private readonly heat = new Heat();
  private readonly surface = new Surface("Share of time in MPI, ranks over time", () => this.draw());
  private readonly scale = el("div", { class: "overtime-scale faint" });
  private readonly begin = el("span");
  private readonly between = el("span");
  private readonly end = el("span");
  private readonly share = new Chart();
  private readonly busy = new Chart();
  private readonly busyBox = el("div", { hidden: true }, this.busy.element);
  private readonly parts = new Map<string, Series>();

  constructor(private readonly page: Page) {
    const map = el("a", { class: "overtime-map", title: "Show the ranks" }, this.surface.element);
    map.addEventListener("click", () => page.go({ view: "ranks" }));
    this.element = el("section", { class: "card", id: "overtime", "aria-label": "Over time", hidden: true },
      el("h2", {}, "Share of time in MPI: ranks over time"), this.scale, map,
      el("div", { class: "overtime-axis faint" }, this.begin, this.between, this.end),
      el("div", { class: "charts" }, this.share.element, this.busyBox));
  }

  refresh(): void {
    const world = this.page.place.world;
    this.page.load("overtime", "ranks", { world, value: "mpi", columns: kColumns, rows: kRows, digits: kDigits },
      (grid) => this.showRanks(grid), () => { this.element.hidden = true; });
    for (const name of kBusy) {
      this.page.load(name, "series", { name, columns: kColumns }, (series) => {
        this.parts.set(name, series);
        this.showHosts();
      }, () => { this.busyBox.hidden = true; });
    }
  }

  unmount(): void {
    this.surface.end();
    this.share.end();
    this.busy.end();
  }

  private showRanks(grid: Ranks): void {
    this.element.hidden = grid.rows.length === 0 || grid.columns === 0;
    if (this.element.hidden) return;
    this.heat.paint(grid.columns, grid.rows.length, this.page.theme, (row, column) => {
      const line = grid.rows[row]!;
      return (line.cells[column] ?? 0) > 0 ? timeShare(line, column) : null;
    });
    fill(this.scale, legend(this.page.theme, "0 %", "100 %"));
    this.begin.textContent = moment(grid.scope.begin_ns, grid.slot_ns);
    this.end.textContent = moment(grid.scope.end_ns, grid.slot_ns);
    this.between.textContent = grid.world_size === 1 ? "rank 0" : `ranks 0 to ${grid.world_size - 1}, top to bottom`;
    this.surface.label(`Share of time in MPI of ${grid.world_size} ranks over time; the view Ranks has it as a table`);
    this.surface.element.style.height = `${Math.max(64, Math.min(160, 18 * grid.rows.length))}px`;
    this.surface.fit();
    this.draw();
    this.chart(this.share, "Share of time in MPI", "%", mpiLine(grid), grid, [0, 100]);
  }

  private showHosts(): void {
    const series = kBusy.map((name) => this.parts.get(name)).filter((one) => one !== undefined);
    // The two answers are of moments a little apart: slots of different lengths cannot be added.
    if (series.length < kBusy.length || series.some((one) => one.slot_ns !== series[0]!.slot_ns)) return;
    const line = busyLine(series);
    this.busyBox.hidden = line.points.length === 0;
    if (this.busyBox.hidden) return;
    const isOne = series[0]!.lines.length === 1;
    this.chart(this.busy, isOne ? "Busy processors of the host" : "Busy processors, mean of the hosts", "", line,
      series[0]!, rangeOf([line]));
  }

  private chart(chart: Chart, title: string, unit: string, line: Line, of: Ranks | Series,
                range: readonly [number, number]): void {
    chart.show({ line, title, unit, beginNs: of.scope.begin_ns, endNs: of.scope.end_ns, slotNs: of.slot_ns, range,
                 theme: this.page.theme });
  }

  private draw(): void {
    const { context, width, height } = this.surface;
    context.fillStyle = this.page.theme.surface;
    context.fillRect(0, 0, width, height);
    this.heat.draw(context, 0, 0, width, height);
  }
}
