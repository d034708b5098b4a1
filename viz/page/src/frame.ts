// The frame around the views: command, state of the connection, selection, tabs, errors.

import type { Overview } from "./answers.ts";
import { el, fill } from "./dom.ts";
import { duration, moment } from "./format.ts";
import type { Change, Place } from "./place.ts";
import type { Said } from "./states.ts";
import type { Key, View } from "./view.ts";

export interface FrameOwner {
  go(change: Change): void;
  link(change: Change): string;
  switchTheme(): void;
  retry(): void;
}

export class Frame {
  /** Where a view is mounted. */
  readonly root = el("main", { id: "view", tabindex: -1 });
  private readonly command = el("h1", {}, "xylem");
  private readonly state = el("span", { class: "state", role: "status" });
  private readonly worlds = el("select", { "aria-label": "World (an MPI_COMM_WORLD)" });
  private readonly chips = el("span", { class: "chips" });
  private readonly trouble = el("div", { class: "trouble", role: "alert" });
  private readonly help = el("dialog", { class: "help", "aria-label": "Keys" });
  private readonly tabs: ReadonlyMap<string, HTMLAnchorElement>;
  private stateTrouble: string | null = null;
  private viewTrouble: string | null = null;
  private told: string | null = null;

  constructor(private readonly views: readonly View[], private readonly owner: FrameOwner) {
    this.trouble.hidden = true;
    this.worlds.hidden = true;
    this.worlds.addEventListener("change", () => owner.go({ world: Number(this.worlds.value) }));
    this.tabs = new Map(views.map((view, number) => [view.id,
      el("a", { href: owner.link({ view: view.id }), title: number < 9 ? `Key ${number + 1}` : null },
        view.title)]));
    document.body.append(
      el("a", { class: "unseen", href: "#view", click: (event: Event) => {
        event.preventDefault();
        this.root.focus();
      } }, "To the view"),
      el("header", {},
        this.command, this.state, this.chips, this.worlds,
        el("button", { type: "button", class: "plain", title: "Light or dark (t)", id: "theme",
                       "aria-label": "Light or dark", click: () => owner.switchTheme() }, "◐"),
        el("button", { type: "button", class: "plain", title: "Keys (?)", "aria-label": "Keys",
                       click: () => this.help.showModal() }, "?")),
      el("nav", { "aria-label": "Views" }, ...this.tabs.values()),
      this.trouble, this.root, this.help);
  }

  /** Marks the tab of the view, and shows the selected rank, time and world. */
  showPlace(place: Place): void {
    for (const view of this.views) {
      const tab = this.tabs.get(view.id)!;
      tab.href = this.owner.link({ view: view.id });
      if (view.id === place.view) {
        tab.setAttribute("aria-current", "page");
        this.root.setAttribute("aria-label", view.title);
      } else {
        tab.removeAttribute("aria-current");
      }
    }
    const chip = (id: string, text: string, change: Change): HTMLElement =>
      el("button", { type: "button", class: "chip", "data-chip": id, title: "Show all again",
                     click: () => this.owner.go(change) }, `${text} ✕`);
    const { begin, end } = place;
    fill(this.chips,
      place.rank !== null && chip("rank", `rank ${place.rank}`, { rank: null }),
      begin !== null && end !== null &&
        chip("time", `${moment(begin, (end - begin) / 100)} – ${moment(end, (end - begin) / 100)}`,
          { begin: null, end: null }));
    this.worlds.value = String(place.world);
  }

  /** Shows the run's command and its worlds. */
  showRun(overview: Overview, place: Place): void {
    const { command } = overview.run;
    this.command.textContent = command;
    this.command.title = command;
    document.title = `${command} · xylem`;
    this.worlds.hidden = overview.worlds.length < 2;
    fill(this.worlds, ...overview.worlds.map((world) =>
      el("option", { value: world.world }, `world ${world.world}: ${world.program}, ${world.size} ranks`)));
    this.worlds.value = String(place.world);
  }

  /** Shows the state of the connection, and the length of the run. */
  showState(state: Said, endNs: number): void {
    this.state.dataset.state = state.mark;
    this.state.title = state.title;
    const text = endNs > 0 ? `${state.text} · ${duration(endNs)}` : state.text;
    if (this.state.textContent !== text) this.state.textContent = text;
    this.stateTrouble = state.trouble;
    this.tellTrouble();
  }

  /** Shows an error of the view's requests; null: there is none. */
  showTrouble(message: string | null): void {
    this.viewTrouble = message;
    this.tellTrouble();
  }

  /** Shows one error. An error of the connection hides the errors of requests, which it causes. */
  private tellTrouble(): void {
    const message = this.stateTrouble ?? this.viewTrouble;
    this.trouble.hidden = message === null;
    if (message === null || message === this.told) return;
    this.told = message;
    fill(this.trouble, el("span", {}, message),
      el("button", { type: "button", click: () => this.owner.retry() }, "Try again"));
  }

  get isHelpOpen(): boolean {
    return this.help.open;
  }

  /** Lists the keys of the frame and of the mounted view. */
  listKeys(keys: readonly Key[]): void {
    const line = (key: string, what: string): HTMLElement =>
      el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, what));
    fill(this.help,
      el("h2", {}, "Keys"),
      el("table", {}, el("tbody", {},
        ...this.views.slice(0, 9).map((view, number) => line(String(number + 1), view.title)),
        line("t", "light or dark"),
        line("Esc", "all ranks and all of the time again"),
        line("?", "this list"),
        ...keys.map((key) => line(key.key === " " ? "space" : key.key, key.what)))),
      el("p", {}, "Numbers with ~ are estimates: not all calls of that function were timed. ",
        el("a", { href: "/licences.txt" }, "Licences")),
      el("form", { method: "dialog" }, el("button", {}, "Close")));
  }

  openHelp(): void {
    this.help.showModal();
  }
}
