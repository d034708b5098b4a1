// The alerts: stalled ranks, imbalance, late ranks and losses. Each has a link to its place on the timeline.

import { amountOf, lengthOf, placeOf, worstOf } from "../alerts.ts";
import type { Alert, Alerts } from "../answers.ts";
import { el, empty, fill } from "../dom.ts";
import { count, duration, kNone, moment, plural } from "../format.ts";
import { Table, type Column } from "../table.ts";
import type { Page, View } from "../view.ts";

function columns(answer: () => Alerts, page: Page): Column<Alert>[] {
  return [
    { id: "at", head: "since", isNumber: true, value: (alert) => alert.at_ns, cell: (alert) => moment(alert.at_ns, 1e8) },
    { id: "length", head: "for", isNumber: true, value: (alert) => lengthOf(alert, answer().scope),
      cell: (alert) => duration(lengthOf(alert, answer().scope)) },
    { id: "state", head: "state", value: (alert) => Number(alert.until_ns !== null),
      cell: (alert) => alert.until_ns === null ? el("span", { class: "bad" }, "open") : "over" },
    { id: "kind", head: "kind", value: (alert) => alert.kind, cell: (alert) => alert.kind },
    { id: "rank", head: "rank", isNumber: true, value: (alert) => alert.rank,
      cell: (alert) => alert.rank === null ? kNone : count(alert.rank) },
    { id: "text", head: "what", cell: (alert) => el("a", { href: page.link(placeOf(alert, answer().scope)) }, alert.text) },
    { id: "value", head: "value", isNumber: true, value: (alert) => alert.value,
      cell: (alert) => worstOf(alert) },
    { id: "threshold", head: "allowed", isNumber: true, value: (alert) => alert.threshold,
      cell: (alert) => amountOf(alert.kind, alert.threshold) },
  ];
}

export const alerts: View = {
  id: "alerts",
  title: "Alerts",
  mount(root, page) {
    let newest: Alerts | null = null;
    const table = new Table(columns(() => newest!, page), {
      caption: "What the rules over windows have found",
      sortedBy: "at",
      hint: () => "Show it on the timeline",
      choose: (alert) => page.go(placeOf(alert, newest!.scope)),
    });
    const summary = el("p", { class: "summary", role: "status" });
    const place = el("div", { class: "wide" });
    fill(root, summary, place);
    return {
      refresh() {
        page.load("alerts", "alerts", { most: 1000 }, (answer) => {
          newest = answer;
          const { rank, begin, end } = page.place;
          const shown = answer.alerts.filter((alert) =>
            (rank === null || alert.rank === null || alert.rank === rank) &&
            (begin === null || end === null ||
             (alert.at_ns < end && (alert.until_ns === null || alert.until_ns > begin))));
          fill(summary,
            el("b", { "data-value": "alerts" }, plural(answer.alerts_in_all, "alert")), ", ",
            el("b", { "data-value": "open", class: answer.open > 0 ? "bad" : null }, count(answer.open)), " open",
            shown.length < answer.alerts_in_all ? `; ${count(shown.length)} shown.` : ".");
          if (shown.length === 0) {
            fill(place, answer.alerts_in_all === 0
              ? empty("There are no alerts.",
                      "docs/alerts.md describes the rules and their thresholds.")
              : empty(rank === null ? "There are no alerts in this time."
                                    : `In this time there is no alert with rank ${rank} as the worst.`,
                      "An alert of several ranks is listed under the worst one. Press Esc to show all ranks and times."));
            return;
          }
          table.show(shown);
          fill(place, table.element);
        });
      },
      unmount() {},
    };
  },
};
