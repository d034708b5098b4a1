// Parts of the overview for a selected time: time in MPI of each rank, and functions. They are of one world, and are
// computed from windows. The rest of the overview is of the whole run.

import type { Functions, Ranks } from "./answers.ts";
import { el, empty, fill, type Child } from "./dom.ts";
import { bytes, count, duration, estimate, moment, percent, ranks as rankText } from "./format.ts";
import { shareOfRow } from "./grid.ts";
import { timeOf } from "./place.ts";
import { meter, metered } from "./spark.ts";
import { Table } from "./table.ts";
import type { Page } from "./view.ts";

/** Maximum number of rows of a grid, and of functions. */
const kMaxRows = 1024;
const kFunctions = 8;
/** Half of these have the lowest shares, half the highest. */
const kShownRanks = 8;

/** Says which time an answer is of. Windows make it a little longer than the selected time. */
function timeText({ scope }: Ranks | Functions): string {
  const length = scope.end_ns - scope.begin_ns;
  return `From ${moment(scope.begin_ns, length / 100)} to ${moment(scope.end_ns, length / 100)}, in whole windows.`;
}

export class ChosenTime {
  /** The parts. They are filled when their answers arrive. */
  readonly shares = el("div", { class: "shares" });
  readonly functions = el("div");
  private shown = "";
  private mpiNs = 0;
  private readonly table = new Table<Functions["functions"][number]>([
    { id: "function", head: "function", cell: (row) => row.function, value: (row) => row.function },
    { id: "share", head: "of MPI time", isNumber: true, value: (row) => row.time_ns,
      cell: (row) => metered(row.time_ns / Math.max(this.mpiNs, 1), percent(row.time_ns / Math.max(this.mpiNs, 1))) },
    { id: "time", head: "time", isNumber: true, cell: (row) => estimate(row.estimated, duration(row.time_ns)),
      value: (row) => row.time_ns },
    { id: "calls", head: "calls", isNumber: true, cell: (row) => count(row.calls), value: (row) => row.calls },
    { id: "bytes", head: "payload", isNumber: true, cell: (row) => bytes(row.bytes), value: (row) => row.bytes },
  ], { caption: "Functions with most time, in the selected time", sortedBy: "time" });

  constructor(private readonly page: Page) {}

  get isSelected(): boolean {
    return this.page.place.begin !== null && this.page.place.end !== null;
  }

  /** Requests the answers for the selected time, if there is one. */
  refresh(): void {
    if (!this.isSelected) return;
    const { place } = this.page;
    const asked = { world: place.world, ...timeOf(place) };
    const key = JSON.stringify(asked);
    if (key !== this.shown) for (const part of [this.shares, this.functions]) fill(part, el("p", { class: "faint" }, "Asking …"));
    this.shown = key;
    this.page.load("chosen.ranks", "ranks", { ...asked, columns: 1, rows: kMaxRows },
      (answer) => fill(this.shares, ...this.sharesOf(answer)));
    this.page.load("chosen.functions", "functions", { ...asked, most: kFunctions },
      (answer) => fill(this.functions, ...this.functionsOf(answer)));
  }

  /** The share of time in MPI of all ranks together, and the ranks with the lowest and the highest shares. */
  private sharesOf(answer: Ranks): Child[] {
    const { page } = this;
    const inMpi = answer.rows.reduce((sum, row) => sum + row.total, 0);
    const watched = answer.rows.reduce((sum, row) => sum + (row.watched_ns ?? 0), 0);
    if (watched === 0) return [empty("No rank was watched in this time.", "Choose another time, or press Esc for the whole run.")];
    const text = (share: number): string => estimate(answer.scope.estimated, percent(Math.min(share, 1)));
    const sorted = answer.rows.filter((row) => (row.watched_ns ?? 0) > 0).sort((a, b) => shareOfRow(a)! - shareOfRow(b)!);
    const shown = sorted.filter((_, at) => at < kShownRanks / 2 || at >= sorted.length - kShownRanks / 2)
      .sort((a, b) => a.first_rank - b.first_rank);
    return [
      el("p", {}, el("b", { "data-value": `share${page.place.world}` }, text(inMpi / watched)), " of the ranks' time is in MPI"),
      el("p", { class: "faint", "data-value": "chosen_time" }, timeText(answer), " Functions are of this time, too; the rest of this page is of the whole run."),
      el("div", { class: "bars" }, ...shown.flatMap((row) => [
        el("a", { href: page.link({ view: "timeline", rank: row.first_rank }) }, rankText(row.first_rank, row.ranks)),
        meter(shareOfRow(row)!), el("span", { class: "number" }, text(shareOfRow(row)!)),
      ])),
      sorted.length > shown.length && el("p", { class: "faint" }, "The lowest and the highest shares; ",
        el("a", { href: page.link({ view: "ranks" }) }, `all ${count(answer.world_size)}`))];
  }

  private functionsOf(answer: Functions): Child[] {
    this.mpiNs = answer.mpi_ns;
    this.table.show(answer.functions);
    return [
      answer.functions.length > 0 ? this.table.element : empty("No call has ended in this time.", "Press Esc for the whole run."),
      el("p", { class: "faint" }, timeText(answer), " "),
      answer.functions_in_all > answer.functions.length &&
        el("a", { href: this.page.link({ view: "functions" }) }, `all ${count(answer.functions_in_all)}`)];
  }
}
