// Ranks x time as a heat map: time in MPI, waiting, payload or calls.

import type { Ranks, UnderWay } from "../answers.ts";
import { choice, el, empty, fill } from "../dom.ts";
import { bytes, count, duration, estimate, kNone, moment, percent, plural, ranks as named } from "../format.ts";
import { imbalance, maxOf, ordered, shareOfRow, slotLength, timeShare, type Order, type Row } from "../grid.ts";
import { legend } from "../heat.ts";
import { lines, type Hint } from "../hint.ts";
import { timeOf } from "../place.ts";
import { moved, zoomed, type Range } from "../range.ts";
import { RankMap, type Spot } from "../rank_map.ts";
import { Table } from "../table.ts";
import { underWay } from "../under_way.ts";
import type { Page, View } from "../view.ts";

const kValues = [["mpi", "time in MPI"], ["wait", "waiting"], ["bytes", "payload"], ["calls", "calls"]] as const;
/** Significant digits of a cell: one more than is shown. */
const kDigits = 4;
/** Maximum number of calls under way in the table. */
const kShownCalls = 100;
const kOrders = [["rank", "rank"], ["host", "host"], ["value", "value"]] as const;

/** The value of a row or of a cell as text. */
function amount(answer: Ranks, value: number): string {
  const text = answer.unit === "ns" ? duration(value) : answer.unit === "bytes" ? bytes(value) : count(value);
  return estimate(answer.scope.estimated && answer.unit === "ns", text);
}

/** The share of a row's watched time; nothing if the grid is not of times. */
function shareText(answer: Ranks, row: Row): string {
  const share = shareOfRow(row);
  return share === null ? kNone : estimate(answer.scope.estimated, percent(share));
}

function table(answer: () => Ranks, page: Page): Table<Row> {
  return new Table<Row>([
    { id: "ranks", head: "ranks", cell: (row) => named(row.first_rank, row.ranks), value: (row) => row.first_rank },
    { id: "host", head: "host", cell: (row) => row.host || kNone, value: (row) => row.host },
    { id: "total", head: "in all", isNumber: true, cell: (row) => amount(answer(), row.total), value: (row) => row.total },
    { id: "share", head: "of its time", isNumber: true, value: (row) => shareOfRow(row),
      cell: (row) => shareText(answer(), row),
      title: "Of the time in which the ranks were watched, times the largest number of their threads that called MPI at the same time" },
  ], {
    caption: "The same, row by row",
    sortedBy: "total",
    hint: (row) => `Show the timeline of rank ${row.first_rank}`,
    choose: (row) => page.go({ view: "timeline", rank: row.first_rank }),
  });
}

function tell(hint: Hint, event: MouseEvent, answer: Ranks, spot: Spot): void {
  const { row, column } = spot;
  const begin = answer.scope.begin_ns + column * answer.slot_ns;
  const length = slotLength(answer, answer.scope, column);
  const share = timeShare(row, column);
  const uneven = imbalance(answer, column);
  hint.show(event, lines(
    ["", el("b", {}, named(row.first_rank, row.ranks), row.host && ` on ${row.host}`)],
    ["time", `${moment(begin, length / 100)} – ${moment(begin + length, length / 100)}`],
    [kValues.find(([id]) => id === answer.value)![1], amount(answer, row.cells[column] ?? 0)],
    ...(share === null ? [] : [["share", estimate(answer.scope.estimated, percent(share))] as const]),
    ["imbalance", uneven === null ? kNone : percent(uneven)]));
}

export const ranks: View = {
  id: "ranks",
  title: "Ranks",
  mount(root, page) {
    let answer: Ranks | null = null;
    const value = (): string => kValues.find(([id]) => id === page.place.own.value)?.[0] ?? "mpi";
    const order = (): Order => kOrders.find(([id]) => id === page.place.own.order)?.[0] ?? "rank";
    const set = (own: Record<string, string>): void => page.go({ own: { ...page.place.own, ...own } }, "replace");
    /** The ranks [first, end) to which the user has zoomed; {}: all ranks. */
    const cut = (): { first_rank?: number; end_rank?: number } => {
      const [first, end] = (page.place.own.ranks ?? "").split("-").map(Number);
      return Number.isInteger(first) && Number.isInteger(end) ? { first_rank: first!, end_rank: end! } : {};
    };

    const toolbar = el("div", { class: "toolbar" });
    const body = el("div", { class: "plot" });
    const rows = table(() => answer!, page);
    const details = el("details", {}, el("summary", {}, "As a table"), rows.element);
    details.addEventListener("toggle", () => refresh());
    const calls = underWay(page);
    const open = el("section", { id: "under_way", "aria-live": "off" });
    fill(root, toolbar, body, el("div", { class: "under" }, open, details,
      el("p", { class: "faint" }, "Drag to zoom into a time, with Shift into ranks; click to see the calls.")));

    // The selected time. Its answer may still be loading, because users zoom quickly.
    const time = (): Range => ({
      begin: page.place.begin ?? answer!.scope.begin_ns,
      end: page.place.end ?? answer!.scope.end_ns,
    });
    const whole = (): Range => ({ begin: answer!.scope.run_begin_ns, end: answer!.scope.run_end_ns });
    const look = (range: Range): void => page.go(range, "replace");
    const zoom = (factor: number, at?: number): void => {
      if (answer === null) return;
      look(zoomed(time(), factor, at ?? (time().begin + time().end) / 2, whole(), Math.max(1, answer.slot_ns)));
    };
    const pan = (share: number): void => {
      if (answer !== null) look(moved(time(), share, whole()));
    };
    const map = new RankMap(body, page, {
      hovers: (hint, event, spot) => tell(hint, event, answer!, spot),
      clicked: ({ row, column }) => {
        const begin = answer!.scope.begin_ns + column * answer!.slot_ns;
        if (row.ranks === 1) {
          page.go({ view: "timeline", rank: row.first_rank, begin, end: begin + answer!.slot_ns });
        } else {
          set({ ranks: `${row.first_rank}-${row.first_rank + row.ranks}` });
        }
      },
      choseTime: (range) => page.go(range),
      choseRanks: (first, end) => set({ ranks: `${first}-${end}` }),
      wheel: (at, turns) => zoom(turns > 0 ? 1.4 : 1 / 1.4, at),
    });

    const drawTools = (): void => {
      const isTime = answer !== null && answer.unit === "ns";
      fill(toolbar,
        choice("show", kValues, value(), (id) => set({ value: id })),
        choice("sort by", kOrders, order(), (id) => set({ order: id })),
        answer !== null && legend(page.theme, isTime ? "0 %" : "0",
          isTime ? "100 % of its time" : `${amount(answer, maxOf(answer))} of a rank in ${duration(answer.slot_ns)}`),
        page.place.own.ranks !== undefined &&
          el("button", { type: "button", class: "chip", click: () => {
            const { ranks: _, ...own } = page.place.own;
            page.go({ own });
          } }, `ranks ${page.place.own.ranks.replace("-", " to ")} ✕`));
    };

    const refresh = (): void => {
      const asked = { world: page.place.world, value: value(), columns: map.maxColumns(), digits: kDigits, ...cut(), ...timeOf(page.place) };
      page.load("ranks", "ranks", asked, (newest) => {
        answer = newest;
        drawTools();
        if (newest.rows.length === 0 || newest.columns === 0) {
          map.show(null, "rank");
          fill(body, empty("There is no data in this time.", "Windows come twice a second; Esc shows all of the time."));
          return;
        }
        map.show(newest, order());
        if (details.open) rows.show(ordered(newest.rows, order()));
      });
    };
    const showCalls = (newest: UnderWay): void => {
      calls.show(newest.calls);
      open.hidden = newest.calls.length === 0;
      fill(open, el("h2", {}, `Under way: ${plural(newest.calls_in_all, "call has", "calls have")} not returned`),
        calls.element, newest.calls_in_all > newest.calls.length &&
          el("p", { class: "faint" }, `The longest ${count(newest.calls.length)}.`));
    };
    open.hidden = true;
    drawTools();
    return {
      refresh: () => {
        refresh();
        page.load("under_way", "under_way", { world: page.place.world, most: kShownCalls, ...cut() }, showCalls);
      },
      unmount: () => map.end(),
      keys: [
        { key: "+", what: "zoom into the time", press: () => zoom(0.5) },
        { key: "-", what: "zoom out", press: () => zoom(2) },
        { key: "ArrowLeft", what: "earlier", press: () => pan(-0.25) },
        { key: "ArrowRight", what: "later", press: () => pan(0.25) },
      ],
    };
  },
};
