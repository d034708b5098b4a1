// The overview: the findings, the run, the account, alerts, time in MPI, waits, functions, services and losses.

import type { Alert, Alerts, Overview, WorldShare } from "../answers.ts";
import { ChosenTime } from "../chosen_time.ts";
import { el, empty, fill, type Child } from "../dom.ts";
import { bytes, count, date, duration, estimate, kNone, moment, percent, plural, rate } from "../format.ts";
import { findings } from "../overview/findings.ts";
import { OverTime } from "../overview/over_time.ts";
import { WaitsCard } from "../overview/waits.ts";
import { meter, metered } from "../spark.ts";
import { Table } from "../table.ts";
import { underWay } from "../under_way.ts";
import type { Page, View } from "../view.ts";

import "../overview/overview.css";

function card(title: string, id: string, ...inside: Child[]): HTMLElement {
  return el("section", { class: "card", id, "aria-label": title }, el("h2", {}, title), ...inside);
}

/** A bar with the shares of stored and lost calls. */
function proportion(stored: number, lost: number): HTMLElement {
  const gap = el("span", { class: "lost-part" });
  gap.style.flexGrow = String(lost);
  const whole = el("span", { class: "stored-part" });
  whole.style.flexGrow = String(Math.max(stored, lost === 0 ? 1 : 0));
  return el("div", { class: "proportion", "aria-hidden": "true" }, whole, lost > 0 && gap);
}

/** The account: captured = stored + lost, plus calls on the way during the run, and whether it is complete. */
function account(answer: Overview): HTMLElement {
  const { ranks, complete_ranks, captured, stored, lost, lost_of_unknown_ranks } = answer.account;
  if (ranks === 0) {
    return card("The account", "account",
      empty("No rank has registered yet.", "Numbers come as soon as one has."));
  }
  const missing = lost + lost_of_unknown_ranks;
  const term = (name: string, what: string, value: number): HTMLElement =>
    el("span", { class: "term" }, el("b", { "data-value": name }, count(value)), el("small", {}, what));
  const rest = ranks - complete_ranks;
  const onTheWay = Math.max(0, captured - stored - lost);
  const hasEnded = answer.scope.has_ended;
  const state = missing > 0
    ? `${plural(missing, "call")} lost: the list of what is missing says where and why.`
    : rest === 0 ? "Every call of every rank is stored."
    : hasEnded ? `${plural(rest, "rank")} did not end in order: their last calls may be missing.`
    : `Nothing is lost so far; ${rest === ranks ? "the ranks are" : `${plural(rest, "rank")} still`} running.`;
  return card("The account", "account",
    el("div", { class: "equation" },
      term("captured", "calls captured", captured), el("span", {}, "="),
      term("stored", "stored", stored), el("span", {}, "+"), term("lost", "lost", lost),
      onTheWay > 0 && el("span", {}, "+"), onTheWay > 0 && term("on_the_way", "on the way", onTheWay)),
    proportion(stored, lost),
    el("p", { class: missing > 0 || (hasEnded && rest > 0) ? "bad" : "good" }, state),
    el("p", { class: "faint" }, `${count(complete_ranks)} of ${plural(ranks, "rank")} complete`,
      lost_of_unknown_ranks > 0 && `; ${plural(lost_of_unknown_ranks, "call")} lost of unknown ranks`));
}

/** Half of these ranks have the lowest shares, half the highest. */
const kShownRanks = 8;

function shareOf(share: WorldShare, page: Page): HTMLElement {
  const sorted = [...share.shown].sort((a, b) => a.share - b.share);
  const shown = sorted.filter((_, at) => at < kShownRanks / 2 || at >= sorted.length - kShownRanks / 2)
    .sort((a, b) => a.rank - b.rank);
  return el("div", { class: "shares" },
    el("p", {}, el("b", { "data-value": `share${share.world}` }, estimate(share.estimated, percent(share.mean_mpi_share))),
      ` of the ranks' time is in MPI`,
    ),
    share.mpi_imbalance !== null && el("p", { class: "faint", title: "How far the rank with most is above the mean" },
      `imbalance: ${percent(share.mpi_imbalance)} in MPI`,
      share.other_imbalance !== null && `, ${percent(share.other_imbalance)} outside`),
    el("div", { class: "bars" }, ...shown.flatMap((rank) => [
      el("a", { href: page.link({ view: "timeline", world: share.world, rank: rank.rank }) }, `rank ${rank.rank}`),
      meter(rank.share), el("span", { class: "number" }, estimate(rank.estimated, percent(rank.share))),
    ])),
    share.ranks > shown.length &&
      el("p", { class: "faint" }, "The lowest and the highest shares; ",
        el("a", { href: page.link({ view: "ranks", world: share.world }) }, `all ${count(share.ranks)}`)));
}

function facts(answer: Overview): HTMLElement {
  const { run, worlds } = answer;
  const elapsed = run.elapsed_ns ?? answer.scope.run_end_ns;
  const state = !answer.scope.has_ended ? "running"
    : run.exit_code === null ? "ended" : run.exit_code < 0 ? "ended" : `ended with exit code ${run.exit_code}`;
  const fact = (name: string, id: string, value: Child): Node[] => [el("dt", {}, name), el("dd", { "data-value": id }, value)];
  return card("The run", "run", el("dl", { class: "facts" },
    ...fact("state", "state", state),
    ...fact("time", "elapsed", duration(elapsed)),
    ...fact("ranks", "ranks", count(answer.account.ranks)),
    ...fact("hosts", "hosts", count(run.hosts)),
    ...fact("calls a second", "calls_per_s", answer.calls_per_s === null ? kNone : rate(answer.calls_per_s)),
    ...fact("begun", "started", !run.started_ns ? kNone : date(run.started_ns)),
    ...fact("by", "user", run.host === "" ? kNone : `${run.user}@${run.host}`),
    ...fact("program", "program", worlds.map((world) => world.program.split("/").pop()).join(", ") || kNone),
    ...fact("MPI", "mpi", run.mpi_libraries.map((name) => name.split("\n")[0]!.slice(0, 40)).join(", ") || kNone),
    ...fact("detail", "detail", run.detail)));
}

/** Alerts: open alerts first, then the newest. */
function alertLines(answer: Alerts, page: Page): Child[] {
  if (answer.alerts_in_all === 0) return [el("p", { class: "good" }, "There are no alerts.")];
  const line = (alert: Alert): HTMLElement => el("li", { class: alert.until_ns === null ? "bad" : null },
    alert.rank === null ? alert.text
      : el("a", { href: page.link({ view: "timeline", world: alert.world ?? 0, rank: alert.rank }) }, alert.text),
    el("span", { class: "faint" }, alert.until_ns === null
      ? ` since ${moment(alert.at_ns, 1e8)}`
      : ` from ${moment(alert.at_ns, 1e8)} to ${moment(alert.until_ns, 1e8)}`));
  return [
    el("ul", { class: "alerts" }, ...answer.alerts.slice(0, kShownAlerts).map(line)),
    answer.alerts_in_all > kShownAlerts && el("p", { class: "faint" }, `${count(answer.open)} of ` +
      `${plural(answer.alerts_in_all, "alert")} open; `, el("a", { href: page.link({ view: "alerts" }) }, "all")),
  ];
}

const kShownAlerts = 5;

function functionLines(): Table<Overview["functions"][number]> {
  return new Table([
    { id: "function", head: "function", cell: (row) => row.function, value: (row) => row.function },
    { id: "share", head: "of MPI time", isNumber: true, value: (row) => row.share,
      cell: (row) => metered(row.share, percent(row.share)) },
    { id: "time", head: "time", isNumber: true, cell: (row) => estimate(row.estimated, duration(row.time_ns)),
      value: (row) => row.time_ns },
    { id: "calls", head: "calls", isNumber: true, cell: (row) => count(row.calls), value: (row) => row.calls },
    { id: "bytes", head: "payload", isNumber: true, cell: (row) => bytes(row.bytes), value: (row) => row.bytes },
  ], { caption: "Functions with most time", sortedBy: "time" });
}

const kServices = new Table<Overview["services"][number]>([
  { id: "service", head: "service", cell: (row) => row.service },
  { id: "hosts", head: "hosts", isNumber: true, cell: (row) => `${count(row.complete)} of ${count(row.back_ends)}`,
    title: "Complete, of those that have it" },
  { id: "captured", head: "samples", isNumber: true, cell: (row) => count(row.captured) },
  { id: "stored", head: "stored", isNumber: true, cell: (row) => count(row.stored) },
  { id: "lost", head: "lost", isNumber: true, cell: (row) => count(row.lost) },
], { caption: "The account of each service" });

const kLosses = new Table<Overview["losses"][number]>([
  { id: "part", head: "part", cell: (row) => row.part },
  { id: "host", head: "host", cell: (row) => row.host },
  { id: "calls", head: "calls", isNumber: true, cell: (row) => row.calls === null ? kNone : count(row.calls) },
  { id: "messages", head: "messages", isNumber: true,
    cell: (row) => row.messages === null ? kNone : count(row.messages) },
  { id: "reason", head: "why", cell: (row) => row.reason },
], { caption: "What is missing" });

export const overview: View = {
  id: "overview",
  title: "Overview",
  mount(root, page) {
    const waiting = new WaitsCard(page);
    const lines = functionLines();
    // As in the report, a column has the world if there are several.
    const callsOf = [underWay(page), underWay(page, true)] as const;
    const found = el("div", {}, el("p", { class: "faint" }, "Asking …"));
    const alerts = card("Alerts", "found", found);
    const time = new ChosenTime(page);
    const overTime = new OverTime(page);
    return {
      refresh() {
        time.refresh();
        page.load("alerts", "alerts", { most: kShownAlerts }, (answer) => fill(found, ...alertLines(answer, page)));
        page.load("overview", "overview", {}, (answer) => {
          const hasWorlds = answer.worlds_in_all > 1;
          const calls = callsOf[hasWorlds ? 1 : 0];
          calls.show(answer.under_way.slice(0, 8));
          lines.show(answer.functions.slice(0, 8));
          kServices.show(answer.services);
          kLosses.show(answer.losses);
          fill(root, el("div", { class: "cards" },
            card("Findings", "findings", ...findings(answer.findings, page)),
            el("div", { class: "column" }, account(answer), alerts,
              answer.under_way.length > 0 && card(
                `Under way: ${plural(answer.under_way_in_all, "call has", "calls have")} not returned`, "under_way",
                calls.element, answer.under_way_in_all > 8 &&
                  el("a", { href: page.link({ view: "ranks" }) },
                    hasWorlds ? `those of world ${page.place.world}` : `all ${count(answer.under_way_in_all)}`)),
              card("Who waits for whom", "waits", ...waiting.show(answer)),
              answer.services.length > 0 && card("Services", "services", kServices.element)),
            overTime.element,
            facts(answer),
            card("Time in MPI", "share", ...(time.isSelected ? [time.shares] : answer.shares.length > 0
              ? answer.shares.map((share) => shareOf(share, page))
              : [empty("No rank has reported yet.", "Windows come twice a second.")])),
            time.isSelected ? card("Functions", "functions", time.functions)
            : card("Functions", "functions", answer.functions.length > 0
              ? lines.element
              : empty("No call has been stored yet.", "Calls are stored a fifth of a second after they ended."),
              answer.functions_in_all > 8 &&
                el("a", { href: page.link({ view: "functions" }) }, `all ${count(answer.functions_in_all)}`)),
            answer.losses.length > 0 && card("What is missing", "losses", kLosses.element)));
        });
        overTime.refresh();
      },
      unmount: () => overTime.unmount(),
    };
  },
};
