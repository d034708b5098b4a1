// The functions: calls, time, payload, time over the run, and the distribution of durations. The places that call them.

import type { CallSite, CallSites, FunctionRow, Functions, Overview, Region } from "../answers.ts";
import { classColour } from "../colours.ts";
import { el, empty, fill, type Child } from "../dom.ts";
import { bytes, count, duration, estimate, kNone, moment, percent, plural } from "../format.ts";
import { classesOf, quantile } from "../histogram.ts";
import { bars, metered, spark } from "../spark.ts";
import { timeOf } from "../place.ts";
import { Table, type Column } from "../table.ts";
import type { View } from "../view.ts";

const kSlots = 60;

/**
 * The mean duration of a call. null: `time_ns` is known to have time of calls that have not returned. Estimated times
 * can make any mean longer than the longest call that was timed.
 */
export function meanOf(row: { calls: number; time_ns: number; max_ns: number; estimated: boolean }): number | null {
  if (row.calls === 0) return null;
  const mean = row.time_ns / row.calls;
  return !row.estimated && Math.floor(mean) > row.max_ns ? null : mean;
}

function columns(answer: () => Functions): Column<FunctionRow>[] {
  const share = (row: FunctionRow): number => row.time_ns / Math.max(1, answer().mpi_ns);
  return [
    { id: "function", head: "function", value: (row) => row.function, cell: (row) => {
      const mark = el("span", { class: "class-mark", title: row.class.replaceAll("_", " ") });
      mark.style.background = classColour(row.class);
      return el("span", {}, mark, row.function);
    } },
    { id: "share", head: "of MPI time", isNumber: true, value: share,
      cell: (row) => metered(share(row), percent(share(row))) },
    { id: "time", head: "time", isNumber: true, value: (row) => row.time_ns, title: "Sum over all ranks",
      cell: (row) => estimate(row.estimated, duration(row.time_ns)) },
    { id: "calls", head: "calls", isNumber: true, value: (row) => row.calls, cell: (row) => count(row.calls) },
    { id: "mean", head: "mean", isNumber: true, value: meanOf,
      cell: (row) => {
        const mean = meanOf(row);
        return mean === null ? kNone : estimate(row.estimated, duration(mean));
      } },
    { id: "longest", head: "longest", isNumber: true, value: (row) => row.max_ns, cell: (row) => duration(row.max_ns) },
    { id: "bytes", head: "payload", isNumber: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
    { id: "ranks", head: "ranks", isNumber: true, value: (row) => row.ranks, cell: (row) => count(row.ranks) },
    { id: "series", head: "over time", title: "Time in it, slot by slot, from the left to the right", cell: (row) => {
      const slot = answer().slot_ns;
      const max = Math.max(0, ...row.series_ns);
      const at = answer().scope.begin_ns + row.series_ns.indexOf(max) * slot;
      return spark(row.series_ns, `${row.function}: most from ${moment(at, slot)} on, ` +
        `${duration(max)} in ${duration(slot)} of all ranks`);
    } },
    { id: "distribution", head: "how long a call takes",
      title: "How many calls took how long; each bar is twice as long as the one before", cell: (row) => {
      if (row.distribution.length === 0) return kNone;
      const classes = classesOf(row.distribution);
      const half = quantile(row.distribution, 0.5);
      const max = quantile(row.distribution, 0.99);
      return el("span", { class: "with-spark" },
        bars(classes, `${row.function}: half of the calls took less than ${duration(half)}, 99 % less than ${duration(max)}`),
        el("small", { class: "faint" }, `½ < ${duration(half)}`));
    } },
  ];
}

function regions(): Table<Region> {
  const share = (row: Region): number => row.mpi_ns / Math.max(1, row.time_ns);
  return new Table<Region>([
    { id: "region", head: "region", value: (row) => row.region, cell: (row) => row.region },
    { id: "time", head: "time", isNumber: true, value: (row) => row.time_ns, title: "Sum over all ranks, with the regions inside",
      cell: (row) => duration(row.time_ns) },
    { id: "longest", head: "longest rank", isNumber: true, value: (row) => row.longest_ns, cell: (row) => duration(row.longest_ns) },
    { id: "share", head: "in MPI", isNumber: true, value: share,
      cell: (row) => metered(share(row), estimate(row.estimated, percent(share(row)))) },
    { id: "visits", head: "visits", isNumber: true, value: (row) => row.visits, cell: (row) => count(row.visits) },
    { id: "ranks", head: "ranks", isNumber: true, value: (row) => row.ranks, cell: (row) => count(row.ranks) },
  ], { caption: "The regions that the program has named", sortedBy: "time" });
}

/** What stands below the functions if the program has named regions. */
function regionsShown(answer: Overview, table: Table<Region>): Child[] {
  if (answer.regions.length === 0) return [];
  table.show(answer.regions);
  const left = answer.regions_in_all - answer.regions.length;
  return [
    el("h2", {}, "Regions"),
    el("p", { class: "faint" }, "Of the whole run and all ranks. A region inside another one counts in both."),
    table.element,
    left > 0 && el("p", { class: "faint" }, `${plural(left, "region")} more; those with the most time are shown`),
  ];
}

const kShownSites = 50;

function callSites(): Table<CallSite> {
  return new Table<CallSite>([
    { id: "place", head: "place", value: (row) => row.place ?? "", cell: (row) => row.place ?? kNone },
    { id: "caller", head: "in", value: (row) => row.caller ?? "", cell: (row) => row.caller ?? kNone },
    { id: "function", head: "function", value: (row) => row.function, cell: (row) => row.function },
    { id: "share", head: "of MPI time", isNumber: true, value: (row) => row.share,
      cell: (row) => metered(row.share, percent(row.share)) },
    { id: "time", head: "time", isNumber: true, value: (row) => row.time_ns,
      cell: (row) => estimate(row.estimated, duration(row.time_ns)) },
    { id: "calls", head: "calls", isNumber: true, value: (row) => row.calls, cell: (row) => count(row.calls) },
    { id: "longest", head: "longest", isNumber: true, value: (row) => row.max_ns, cell: (row) => duration(row.max_ns) },
    { id: "bytes", head: "payload", isNumber: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
  ], { caption: "The places in the program with the most time in MPI", sortedBy: "time" });
}

/** What stands below the functions. A run without a trace has no call sites. */
function sitesShown(answer: CallSites, table: Table<CallSite>): Child[] {
  if (answer.call_sites_fault !== null) return [el("p", { class: "bad" }, `The call sites cannot be read: ${answer.call_sites_fault}`)];
  if (answer.call_sites.length === 0) return [];
  table.show(answer.call_sites);
  const left = answer.call_sites_in_all - answer.call_sites.length;
  return [
    el("h2", {}, "Call sites"),
    el("p", { class: "faint" }, "Of the whole run and all ranks."),
    table.element,
    left > 0 && el("p", { class: "faint" }, `${plural(left, "call site")} more; those with the most time are shown`),
  ];
}

export const functions: View = {
  id: "functions",
  title: "Functions",
  mount(root, page) {
    let newest: Functions | null = null;
    const table = new Table(columns(() => newest!), {
      caption: "Functions with their calls, times and payload",
      sortedBy: "time",
    });
    const summary = el("p", { class: "summary" });
    const place = el("div", { id: "by_function", class: "wide" });
    const sites = el("section", { id: "call_sites", class: "wide", "aria-label": "Call sites" });
    const siteTable = callSites();
    let hasSites = false;
    const named = el("section", { id: "regions", class: "wide", "aria-label": "Regions" });
    const regionTable = regions();
    fill(root, summary, place, named, sites);
    return {
      refresh() {
        const { rank, world } = page.place;
        const only = rank === null ? {} : { first_rank: rank, end_rank: rank + 1 };
        const asked = { world, series: kSlots, distribution: true, most: 1000, ...only, ...timeOf(page.place) };
        page.load("regions", "overview", {}, (answer) => fill(named, ...regionsShown(answer, regionTable)));
        page.load("functions", "functions", asked, (answer) => {
          newest = answer;
          // Each answer reads the whole trace, so it is asked for once, when the run has ended.
          if (answer.scope.has_ended && !hasSites) {
            hasSites = true;
            page.load("call_sites", "call_sites", { most: kShownSites }, (found) => fill(sites, ...sitesShown(found, siteTable)));
          }
          fill(summary,
            `${plural(answer.functions_in_all, "function")}, `,
            el("b", { "data-value": "mpi_time" }, estimate(answer.scope.estimated, duration(answer.mpi_ns))),
            ` in MPI ${rank === null ? "of all ranks together" : `of rank ${rank}`}, from `,
            `${moment(answer.scope.begin_ns, 1e7)} to ${moment(answer.scope.end_ns, 1e7)} of the run.`);
          if (answer.functions.length === 0) {
            fill(place, empty("No call was stored in this time.",
              "Show all ranks and all of the time: press Esc."));
            return;
          }
          table.show(answer.functions);
          fill(place, table.element);
        });
      },
      unmount() {},
    };
  },
};
