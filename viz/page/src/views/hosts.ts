// The series of hosts and ranks that services have measured, as charts with a common cursor.

import "../hosts/hosts.css";
import type { Hosts, Query, Series } from "../answers.ts";
import { el, empty, fill } from "../dom.ts";
import { duration, plural } from "../format.ts";
import { Chart } from "../hosts/chart.ts";
import { Chooser } from "../hosts/chooser.ts";
import { rangeOf, type Line } from "../hosts/columns.ts";
import { isFact, readChoices, unitOf, writeChoices, type Choice } from "../hosts/names.ts";
import { timeOf } from "../place.ts";
import type { Mounted, Page, View } from "../view.ts";

const kSlots = 300;
/** Significant digits of a value: one more than is shown. */
const kDigits = 4;
/** Maximum number of charts for one series. */
const kMaxCharts = 24;

class Section {
  readonly element: HTMLElement;
  private readonly head = el("h2");
  private readonly grid = el("div", { class: "charts" });
  private readonly note = el("p", { class: "faint" });
  private readonly charts = new Map<string, Chart>();

  constructor(name: string) {
    this.element = el("section", { "data-series": name }, this.head, this.grid, this.note);
  }

  show(answer: Series, choice: Choice, unit: string, page: Page): void {
    this.head.textContent = answer.name;
    const lines = answer.lines.slice(0, kMaxCharts);
    const all = answer.ranks_in_all ?? answer.hosts_in_all ?? lines.length;
    this.note.textContent = lines.length === 0
      ? "It was not measured in this time: press Esc for the whole run."
      : [
        all > lines.length ? `The first ${lines.length} of ${plural(all, choice.isOfRanks ? "rank" : "host")}.` : "",
        answer.look_ns === undefined ? "" : `Only one sample in ${duration(answer.look_ns)} of each is used; choose a shorter time to use all.`,
      ].join(" ").trim();
    const keys = lines.map((line) => `${line.leaf} ${line.rank ?? ""}`);
    for (const [key, chart] of this.charts) {
      if (keys.includes(key)) continue;
      chart.end();
      this.charts.delete(key);
    }
    const range = rangeOf(lines);
    const charts = lines.map((line, at) => {
      let chart = this.charts.get(keys[at]!);
      if (chart === undefined) this.charts.set(keys[at]!, chart = new Chart());
      return { chart, line };
    });
    // The charts must be in the page before they are drawn, because they take the width of their place.
    const order = charts.map(({ chart }) => chart.element);
    if (order.length !== this.grid.children.length || order.some((one, at) => this.grid.children[at] !== one)) {
      fill(this.grid, ...order);
    }
    for (const { chart, line } of charts) {
      chart.show({ line, title: titleOf(line), unit, range, theme: page.theme, slotNs: answer.slot_ns,
                   beginNs: answer.scope.begin_ns, endNs: answer.scope.end_ns });
    }
  }

  end(): void {
    for (const chart of this.charts.values()) chart.end();
  }
}

function titleOf(line: Line): string {
  return line.rank === undefined ? line.host : `rank ${line.rank} on ${line.host}`;
}

class HostsView implements Mounted {
  private readonly chooser = new Chooser((choices) =>
    this.page.go({ own: { ...this.page.place.own, series: writeChoices(choices) } }, "replace"));
  private readonly summary = el("p", { class: "summary" });
  private readonly list = el("div", { class: "hosts-list" });
  private readonly parts: HTMLElement;
  private readonly nothing = el("div");
  private readonly sections = new Map<string, Section>();
  private units: ReadonlyMap<string, string> = new Map();

  constructor(root: HTMLElement, private readonly page: Page) {
    this.parts = el("div", { class: "hosts" }, this.chooser.element,
      el("div", { class: "hosts-main" }, this.summary, this.list));
    this.parts.hidden = true;
    root.append(this.parts, this.nothing);
  }

  refresh(): void {
    this.page.load("hosts", "hosts", {}, (answer) => this.show(answer));
  }

  unmount(): void {
    for (const section of this.sections.values()) section.end();
  }

  private show(answer: Hosts): void {
    const ofRanks = answer.rank_series ?? [];
    const isEmpty = answer.series.length + ofRanks.length === 0;
    this.parts.hidden = isEmpty && answer.hosts.length === 0;
    fill(this.nothing, this.parts.hidden && empty("No host is known yet.",
      "It appears when its first rank registers; the page follows."));
    if (this.parts.hidden) return;
    this.tell(answer);
    if (isEmpty) {
      fill(this.list, empty("Nothing was measured on the hosts of this run.",
        "Name services in a configuration file, [service.host] for one, and run with --config: docs/services.md."));
      return;
    }
    const choices = readChoices(this.page.place.own.series, answer.series, ofRanks);
    this.chooser.show(answer.series, ofRanks, choices);
    this.arrange(choices);
    // Names and units of existing series do not change. An old file without services has no units.
    if (this.units.size === 0 && [...answer.series, ...ofRanks].some((name) => !isFact(name))) {
      this.page.load("units", "query", { sql: "SELECT name, unit FROM metric" }, (units) => this.take(units, choices));
    } else {
      this.ask(choices);
    }
  }

  private take(units: Query, choices: readonly Choice[]): void {
    this.units = new Map(units.rows.map(([name, unit]) => [String(name), String(unit ?? "")]));
    this.ask(choices);
  }

  private ask(choices: readonly Choice[]): void {
    const { place } = this.page;
    for (const choice of choices) {
      const whose = choice.isOfRanks ? { world: place.world, rank: place.rank } : {};
      this.page.load(`series ${writeChoices([choice])}`, "series",
        { name: choice.name, columns: kSlots, most: kMaxCharts, digits: kDigits, ...whose, ...timeOf(place) },
        (series) => this.sections.get(writeChoices([choice]))
          ?.show(series, choice, unitOf(choice.name, this.units), this.page));
    }
  }

  private arrange(choices: readonly Choice[]): void {
    const keys = choices.map((choice) => writeChoices([choice]));
    for (const [key, section] of this.sections) {
      if (keys.includes(key)) continue;
      section.end();
      this.sections.delete(key);
    }
    const order = keys.map((key) => {
      let section = this.sections.get(key);
      if (section === undefined) this.sections.set(key, section = new Section(key));
      return section.element;
    });
    if (order.length === 0) {
      fill(this.list, empty("No series is chosen.", "Tick one at the left."));
    } else if (order.length !== this.list.children.length || order.some((one, at) => this.list.children[at] !== one)) {
      fill(this.list, ...order);
    }
  }

  private tell(answer: Hosts): void {
    const lost = answer.hosts.filter((host) => host.lost_reason !== "");
    const bounds = answer.hosts.flatMap((host) => (host.clock_error_ns === null ? [] : [host.clock_error_ns]));
    const ranks = answer.hosts.reduce((sum, host) => sum + host.ranks, 0);
    fill(this.summary, `${plural(answer.hosts.length, "host")}, ${plural(ranks, "rank")}; clock error: `,
      bounds.length === 0 ? "unknown" : `at most ${duration(Math.max(...bounds))}`, ". ",
      lost.length > 0 && el("b", { class: "bad" },
        `${plural(lost.length, "host")} lost: ${lost.slice(0, 3).map((host) => `${host.host}, ${host.lost_reason}`).join("; ")}.`));
  }
}

export const hosts: View = {
  id: "hosts",
  title: "Hosts",
  mount: (root, page) => new HostsView(root, page),
};
