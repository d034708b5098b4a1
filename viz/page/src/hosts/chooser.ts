// Lets users select series: a search in the names, of which there may be hundreds, and a check box for each.

import { el, fill } from "../dom.ts";
import { count, plural } from "../format.ts";
import { kMaxChosen, matching, type Choice } from "./names.ts";

/** Maximum number of listed names. The search finds the others. */
const kMaxListed = 150;

export class Chooser {
  readonly element: HTMLElement;
  private readonly search = el("input", { type: "search", placeholder: "Search: cpu, memory …",
                                          "aria-label": "Search series", input: () => this.list() });
  private readonly lists = el("div", { class: "chooser-lists" });
  private ofHosts: readonly string[] = [];
  private ofRanks: readonly string[] = [];
  private chosen: readonly Choice[] = [];

  constructor(private readonly choose: (choices: readonly Choice[]) => void) {
    this.element = el("aside", { class: "chooser", "aria-label": "Series" }, this.search, this.lists);
  }

  show(ofHosts: readonly string[], ofRanks: readonly string[], chosen: readonly Choice[]): void {
    const isSame = JSON.stringify([ofHosts, ofRanks, chosen]) ===
      JSON.stringify([this.ofHosts, this.ofRanks, this.chosen]);
    if (isSame) return;  // Keeps a box that is being clicked.
    this.ofHosts = ofHosts;
    this.ofRanks = ofRanks;
    this.chosen = chosen;
    this.list();
  }

  private list(): void {
    fill(this.lists, ...this.group("Of hosts", this.ofHosts, false), ...this.group("Of ranks", this.ofRanks, true));
  }

  private group(title: string, names: readonly string[], isOfRanks: boolean): HTMLElement[] {
    if (names.length === 0) return [];
    const found = matching(names, this.search.value);
    const isTicked = (name: string): boolean =>
      this.chosen.some((choice) => choice.name === name && choice.isOfRanks === isOfRanks);
    const ordered = [...found.filter(isTicked), ...found.filter((name) => !isTicked(name))];
    return [
      el("h2", {}, `${title} (${count(found.length)})`),
      el("ul", {}, ...ordered.slice(0, kMaxListed).map((name) => el("li", {}, el("label", { title: name },
        el("input", { type: "checkbox", checked: isTicked(name), "data-series": name,
                      disabled: !isTicked(name) && this.chosen.length >= kMaxChosen,
                      change: () => this.turn({ name, isOfRanks }) }), ` ${name}`)))),
      ...(ordered.length > kMaxListed
        ? [el("p", { class: "faint" }, `${plural(ordered.length - kMaxListed, "more series", "more series")}: search for them.`)]
        : []),
    ];
  }

  private turn(choice: Choice): void {
    const rest = this.chosen.filter((one) => one.name !== choice.name || one.isOfRanks !== choice.isOfRanks);
    this.choose(rest.length < this.chosen.length ? rest : [...this.chosen, choice]);
  }
}
