// The first card of the overview: what matters, in sentences.

import type { Finding } from "../answers.ts";
import { el, type Child } from "../dom.ts";
import type { Page } from "../view.ts";

/** As in the report. */
const kShown = 5;
/** The view that shows more about a finding; for others it is the timeline of the finding's rank. */
const kViews: Readonly<Record<string, string>> = {
  moving_imbalance: "ranks", mapping: "matrix", small_messages: "matrix", communicators: "functions", function: "functions",
};
const kLooks = { good: "good", note: null, warning: "bad" } as const;

/** A sentence begins with a capital letter, except for names such as MPI_Recv. */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function findings(found: readonly Finding[], page: Page): Child[] {
  if (found.length === 0) {
    return [el("p", { class: "faint" }, "There are no findings yet: no time has passed between MPI_Init and MPI_Finalize.")];
  }
  return [el("ul", { class: "findings" }, ...found.slice(0, kShown).map((finding) => {
    const text = sentence(finding.text);
    const world = finding.world ?? 0;
    const view = kViews[finding.kind];
    return el("li", { class: kLooks[finding.severity], "data-kind": finding.kind },
      view !== undefined ? el("a", { href: page.link({ view, world }) }, text)
        : finding.rank === null ? text
        : el("a", { href: page.link({ view: "timeline", world, rank: finding.rank }) }, text));
  }))];
}
