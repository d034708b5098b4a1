// Connects the parts of the page. The address selects what is shown, commits cause refreshes.

import "uplot/dist/uPlot.min.css";
import "./style.css";

import { ask } from "./api.ts";
import type { Answers, Commit } from "./answers.ts";
import type { Parameters } from "./api.ts";
import type { Theme } from "./colours.ts";
import { Frame } from "./frame.ts";
import { Live } from "./live.ts";
import { Loads } from "./loads.ts";
import { pauseAfter } from "./pace.ts";
import { changed, formatPlace, parsePlace, type Change, type Place } from "./place.ts";
import { said, type LiveState } from "./states.ts";
import { applyTheme, switchTheme, watchTheme } from "./theme.ts";
import type { Key, Mounted, Page } from "./view.ts";
import { views } from "./views/all.ts";

const kHome = views[0]!.id;

class Main implements Page {
  place: Place = parsePlace(location.hash, kHome);
  theme: Theme = applyTheme();
  private readonly frame = new Frame(views, {
    go: (change) => this.go(change),
    link: (change) => this.link(change),
    switchTheme: () => this.turnTheme(),
    retry: () => {
      this.live.again();
      this.refresh();
    },
  });
  private readonly loads = new Loads({
    failed: (error) => this.frame.showTrouble(error.message),
    settled: () => this.frame.showTrouble(null),
  });
  private readonly live = new Live({
    committed: (commit) => this.committed(commit),
    stateIs: (state, why) => this.stateIs(state, why),
  });
  private mounted: Mounted | null = null;
  private shownView = "";
  private state: LiveState = "connecting";
  private why = "";
  private commit: Commit | null = null;
  private isDue = false;
  private timer: number | null = null;
  private lastRound = 0;
  private isNamed = false;
  private isAskingForName = false;
  /** Live has reported a commit. */
  private hasHeard = false;

  start(): void {
    addEventListener("hashchange", () => this.placeIs(parsePlace(location.hash, kHome)));
    addEventListener("keydown", (event) => this.press(event));
    document.addEventListener("visibilitychange", () => this.schedule());
    watchTheme(() => this.themeChanged());
    this.placeIs(this.place);
    this.live.start();
    void this.askForName();
  }

  go(change: Change, how: "push" | "replace" = "push"): void {
    const place = changed(this.place, change);
    const hash = formatPlace(place);
    if (hash === location.hash) return;
    if (how === "push") {
      history.pushState(null, "", hash);
    } else {
      history.replaceState(null, "", hash);
    }
    this.placeIs(place);
  }

  link(change: Change): string {
    return formatPlace(changed(this.place, change));
  }

  load<Name extends keyof Answers>(
      slot: string, name: Name, parameters: Parameters, show: (answer: Answers[Name]) => void,
      failed?: (message: string) => void): void {
    this.loads.load(slot, name, parameters, (answer) => {
      if (name === "overview") this.nameRun(answer as Answers["overview"]);
      show(answer);
    }, failed);
  }

  private placeIs(place: Place): void {
    this.place = place;
    this.frame.showPlace(place);
    if (this.shownView !== place.view) this.mount(place.view);
    this.refresh();
  }

  private mount(id: string): void {
    this.mounted?.unmount();
    this.loads.abort();
    this.frame.showTrouble(null);
    const view = views.find((one) => one.id === id);
    if (view === undefined) {
      this.go({ view: kHome }, "replace");
      return;
    }
    this.shownView = id;
    this.frame.root.replaceChildren();
    this.frame.root.dataset.view = id;
    this.mounted = view.mount(this.frame.root, this);
    this.frame.listKeys(this.keys());
  }

  private keys(): readonly Key[] {
    return this.mounted?.keys ?? [];
  }

  private refresh(): void {
    this.isDue = false;
    this.lastRound = performance.now();
    this.mounted?.refresh();
  }

  private committed(commit: Commit): void {
    const known = this.commit;
    const isFirst = !this.hasHeard;
    this.hasHeard = true;
    this.commit = commit;
    this.showState();
    if (!this.isNamed) void this.askForName();
    // The page has just loaded the data of the first commit, unless the run has continued since.
    const hasGoneOn = known !== null && (known.run_end_ns !== commit.run_end_ns || known.has_ended !== commit.has_ended);
    if (isFirst && !hasGoneOn) return;
    this.isDue = true;
    this.schedule();
  }

  /** Refreshes the view when a refresh is due, no request is open, and the pause is over. */
  private schedule(): void {
    if (!this.isDue || document.hidden || this.timer !== null) return;
    const pause = pauseAfter(this.loads.tookMs);
    // A round without requests ends when it begins.
    const ended = Math.max(this.lastRound, this.loads.endedMs);
    const wait = this.loads.isBusy ? 100 : Math.max(0, ended + pause - performance.now());
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.loads.isBusy) {
        this.schedule();
      } else if (this.isDue && !document.hidden) {
        this.refresh();
      }
    }, wait) as unknown as number;
  }

  /** Shows command and worlds in the header. Worlds may join later. */
  private nameRun(overview: Answers["overview"]): void {
    this.isNamed = overview.worlds.length > 0;
    this.frame.showRun(overview, this.place);
    this.commit ??= { number: 0, run_end_ns: overview.scope.run_end_ns, has_ended: overview.scope.has_ended };
    this.showState();
  }

  /** Loads the overview for the header, unless the view `overview` does it. */
  private async askForName(): Promise<void> {
    if (this.shownView === "overview" || this.isAskingForName) return;
    this.isAskingForName = true;
    try {
      this.nameRun(await ask("overview", {}, AbortSignal.timeout(20_000)));
    } catch (why) {
      this.frame.showTrouble((why as Error).message);
    } finally {
      this.isAskingForName = false;
    }
  }

  /** After an error of the connection the view is refreshed, even without a new commit. */
  private stateIs(state: LiveState, why: string): void {
    const wasInTrouble = said(this.state, this.why, false).trouble !== null;
    this.state = state;
    this.why = why;
    this.showState();
    if (!wasInTrouble || said(state, why, false).trouble !== null) return;
    this.isDue = true;
    this.schedule();
  }

  private showState(): void {
    this.frame.showState(said(this.state, this.why, this.commit?.has_ended ?? false), this.commit?.run_end_ns ?? 0);
  }

  private turnTheme(): void {
    switchTheme(this.theme);
    this.themeChanged();
  }

  private themeChanged(): void {
    this.theme = applyTheme();
    this.refresh();
  }

  private press(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const isWriting = target.closest("input, textarea, select, [contenteditable]") !== null;
    if (isWriting || event.ctrlKey || event.altKey || event.metaKey || this.frame.isHelpOpen) return;
    const view = /^[1-9]$/.test(event.key) ? views[Number(event.key) - 1] : undefined;
    const own = this.keys().find((key) => key.key === event.key);
    if (view !== undefined) {
      this.go({ view: view.id });
    } else if (event.key === "?") {
      this.frame.openHelp();
    } else if (event.key === "t") {
      this.turnTheme();
    } else if (event.key === "Escape") {
      this.go({ rank: null, begin: null, end: null });
    } else if (own !== undefined) {
      own.press();
    } else {
      return;
    }
    event.preventDefault();
  }
}

new Main().start();
