// The matrix: which rank sends to which, and which waits for which, with a list of the highest pairs.

import type { Matrix } from "../answers.ts";
import { choice, el, empty, fill } from "../dom.ts";
import { bytes, count, duration, kNone, plural, ranks as named } from "../format.ts";
import { legend } from "../heat.ts";
import { lines } from "../hint.ts";
import { Square, type Pair } from "../square.ts";
import { Table } from "../table.ts";
import type { Page, View } from "../view.ts";

const kValues = [
  ["bytes", "payload"], ["messages", "messages"], ["time", "waiting time"], ["waits", "waits"],
] as const;
type Value = typeof kValues[number][0];

const kScales = [["log", "logarithmic"], ["linear", "linear"]] as const;

/** The selected quantity of a cell. */
function valueOf(value: Value, pair: Pair): number {
  return value === "bytes" || value === "time" ? pair.amount : pair.count;
}

function text(value: Value, number: number): string {
  if (value === "bytes") return bytes(number);
  if (value === "time") return duration(number);
  return plural(number, value === "messages" ? "message" : "call");
}

const isWaits = (value: Value): boolean => value === "time" || value === "waits";

function table(waits: boolean, answer: () => Matrix, page: Page): Table<Pair> {
  return new Table<Pair>([
    { id: "row", head: waits ? "rank" : "from", cell: (pair) => named(pair.row, answer().block), value: (pair) => pair.row },
    { id: "column", head: waits ? "waits for" : "to", cell: (pair) => named(pair.column, answer().block), value: (pair) => pair.column },
    { id: "count", head: waits ? "calls" : "messages", isNumber: true, cell: (pair) => count(pair.count), value: (pair) => pair.count },
    { id: "amount", head: waits ? "time" : "payload", isNumber: true, value: (pair) => pair.amount,
      cell: (pair) => waits ? duration(pair.amount) : bytes(pair.amount) },
    { id: "mean", head: "mean", isNumber: true, value: (pair) => pair.amount / Math.max(1, pair.count),
      cell: (pair) => pair.count === 0 ? kNone
        : waits ? duration(pair.amount / pair.count) : bytes(pair.amount / pair.count) },
  ], {
    caption: "The highest pairs",
    sortedBy: "amount",
    hint: (pair) => `Show the timeline of rank ${pair.row}`,
    choose: (pair) => page.go({ view: "timeline", rank: pair.row }),
  });
}

const kShownPairs = 100;

export const matrix: View = {
  id: "matrix",
  title: "Matrix",
  mount(root, page) {
    let answer: Matrix | null = null;
    const value = (): Value => kValues.find(([id]) => id === page.place.own.value)?.[0] ?? "bytes";
    const scale = (): string => page.place.own.scale === "linear" ? "linear" : "log";
    const set = (own: Record<string, string>): void => page.go({ own: { ...page.place.own, ...own } }, "replace");
    /** first_row-end_row,first_column-end_column */
    const cut = (): { first_row?: number; end_row?: number; first_column?: number; end_column?: number } => {
      const found = /^(\d{1,9})-(\d{1,9}),(\d{1,9})-(\d{1,9})$/.exec(page.place.own.cut ?? "");
      if (!found) return {};
      const [first_row, end_row, first_column, end_column] = found.slice(1).map(Number) as [number, number, number, number];
      return { first_row, end_row, first_column, end_column };
    };
    const all = (): void => {
      const { cut: _, ...own } = page.place.own;
      page.go({ own });
    };

    const toolbar = el("div", { class: "toolbar" });
    const plot = el("div", { class: "plot" });
    const tables = [false, true].map((waits) => table(waits, () => answer!, page));
    const pairs = (): Table<Pair> => tables[isWaits(value()) ? 1 : 0]!;
    const beside = el("div", { class: "beside" });
    fill(root, toolbar, el("div", { class: "with-side" }, plot, beside));

    const square = new Square(plot, page, {
      hovers: (hint, event, pair) => {
        const waits = isWaits(value());
        hint.show(event, lines(
          [waits ? "rank" : "from", named(pair.row, answer!.block)],
          [waits ? "waits for" : "to", named(pair.column, answer!.block)],
          [waits ? "calls" : "messages", count(pair.count)],
          [waits ? "time" : "payload", waits ? duration(pair.amount) : bytes(pair.amount)]));
      },
      clicked: (pair) => {
        const { block } = answer!;
        if (block === 1) {
          page.go({ view: "timeline", rank: pair.row });
        } else {
          set({ cut: `${pair.row}-${pair.row + block},${pair.column}-${pair.column + block}` });
        }
      },
      chose: (firstRow, endRow, firstColumn, endColumn) =>
        page.go({ own: { ...page.place.own, cut: `${firstRow}-${endRow},${firstColumn}-${endColumn}` } }),
    });

    const draw = (): void => {
      const waits = isWaits(value());
      const { min, max, leastShare } = square.scale;
      fill(toolbar,
        choice("show", kValues, value(), (id) => set({ value: id })),
        choice("colours", kScales, scale(), (id) => set({ scale: id })),
        answer !== null && max > 0 &&
          legend(page.theme, scale() === "log" ? text(value(), Math.round(min)) : "0", text(value(), max), leastShare),
        page.place.own.cut !== undefined &&
          el("button", { type: "button", class: "chip", title: "Show all ranks again", click: all }, "part of the ranks ✕"));
      if (answer === null) return;
      const lost = answer.lost_messages > 0 && el("p", { class: "bad" },
        `${plural(answer.lost_messages, "message")} of these ranks with ${bytes(answer.lost_bytes)} were lost and are in no cell.`);
      fill(beside,
        el("h2", {}, waits ? "Who waits for whom most" : "Who sends to whom most"),
        el("p", { class: "faint" }, waits
          ? "Rows wait for columns: time in calls that received from a rank."
          : "Rows send to columns: point-to-point payload.",
          " Of the whole run. Drag a box to zoom, click on a cell for its rank."),
        !waits && lost, pairs().element);
    };

    const refresh = (): void => {
      const asked = { world: page.place.world, value: isWaits(value()) ? "waits" : "messages", blocks: square.maxBlocks(), ...cut() };
      page.load("matrix", "matrix", asked, (newest) => {
        answer = newest;
        const found = newest.cells.map(([row, column, times, amount]) => ({ row, column, count: times, amount }));
        square.show(newest, found, (pair) => valueOf(value(), pair), scale() === "log");
        pairs().show(found.sort((a, b) => valueOf(value(), b) - valueOf(value(), a)).slice(0, kShownPairs));
        draw();
        if (found.length > 0) return;
        fill(beside, empty(
          isWaits(value()) ? "No rank has waited in a receive from one other rank." : "No rank has sent to a single other one.",
          "Collectives have no pairs: Functions and Ranks show them."));
      });
    };
    draw();
    return { refresh, unmount: () => square.end(), keys: [{ key: "a", what: "all ranks", press: all }] };
  },
};
