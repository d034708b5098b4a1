// The timeline: ranks x time down to single calls, which users move and zoom like a map.
//
// A movement changes the viewport. The next frame draws it from the cached answers. Requests, the list of the longest
// calls and the address follow when the user pauses.

import "../timeline/timeline.css";
import type { Call, Message, Ranks } from "../answers.ts";
import { el, empty, fill } from "../dom.ts";
import { Hint } from "../hint.ts";
import { Surface } from "../surface.ts";
import { arrowsOf } from "../timeline/arrows.ts";
import { draw, kLeft, kTop } from "../timeline/draw.ts";
import { Gestures } from "../timeline/gestures.ts";
import { callAt, type Point } from "../timeline/hits.ts";
import { Longest } from "../timeline/longest.ts";
import { Navigator } from "../timeline/navigator.ts";
import { listed, Panel, type Listed } from "../timeline/panel.ts";
import { pointedAt } from "../timeline/pointed.ts";
import { rulerText, type Ruler } from "../timeline/ruler.ts";
import { Finder } from "../timeline/search.ts";
import { changeOf, keyOfPlace, viewportOf } from "../timeline/range.ts";
import { bestOf, callLike, isOf, linkedWith, sceneOf, type Scene } from "../timeline/scene.ts";
import { statusOf } from "../timeline/status.ts";
import { neighbours, questionOf, tightTile, wideTile } from "../timeline/tiles.ts";
import { TileStore } from "../timeline/tile_store.ts";
import { Toolbar } from "../timeline/toolbar.ts";
import * as viewports from "../timeline/viewport.ts";
import type { Bounds, Viewport } from "../timeline/viewport.ts";
import { Windows } from "../timeline/windows.ts";
import { changed } from "../place.ts";
import type { Key, Mounted, Page, View } from "../view.ts";

const kStripSlots = 600;
/** Significant digits of windows, which are only drawn as colours. */
const kDigits = 3;
/** Calls of a time are stored, or known to be under way, at most this long after it. */
const kLateNs = 2e9;
/** A pause begins this long after the last movement. */
const kRestMs = 120;

class TimelineView implements Mounted {
  readonly keys: readonly Key[];
  private readonly surface = new Surface("Ranks and time: the calls of each rank", () => this.changed());
  private readonly navigator = new Navigator((ns) => this.centre(ns));
  private readonly panel = new Panel((call) => this.jump(call));
  private readonly longest: Longest;
  private readonly windows = new Windows();
  private readonly toolbar = new Toolbar({
    zoom: (factor) => this.zoom(factor),
    showAll: () => this.page.go({ rank: null, begin: null, end: null, own: {} }),
    turnMessages: () => this.turnMessages(),
    turnRuler: () => this.turnRuler(),
    find: (text, isBack) => this.finder.step(text, isBack),
  });
  private readonly finder: Finder;
  private readonly status = el("p", { class: "timeline-status", role: "status" });
  private readonly body: HTMLElement;
  private readonly nothing = el("div");
  private readonly hint: Hint;
  private readonly store: TileStore<Scene>;
  private run: Ranks | null = null;
  private bounds: Bounds | null = null;
  private view: Viewport | null = null;
  private scene: Scene | null = null;
  private chosen: Call | null = null;
  /** The call to which the user has jumped, until an answer has it. */
  private wanted: Listed | null = null;
  private hovered: Call | Message | null = null;
  /** A drag measures time. */
  private isMeasuring = false;
  private ruler: Ruler | null = null;
  private world = -1;
  /** Key of the place of the viewport. A place with another key was set outside of the timeline. */
  private shown = "";
  private isWriting = false;
  private drawing = 0;
  private resting = 0;

  constructor(root: HTMLElement, private readonly page: Page) {
    this.store = new TileStore<Scene>(
      (slot, tile, show) => page.load(slot, "timeline",
        { world: page.place.world, digits: kDigits, ...questionOf(tile, this.bounds!) }, (answer) => show(sceneOf(answer))),
      () => this.rest());  // If an answer is too much, a smaller tile is requested.
    this.longest = new Longest({
      ask: (parameters, show) => page.load("longest", "timeline", { world: page.place.world, ...parameters }, show),
      show: (calls, note) => this.panel.showLongest(calls, note),
    });
    this.finder = new Finder({
      ask: (parameters, show, failed) =>
        page.load("search", "search", { world: page.place.world, ...parameters }, show, failed),
      show: (call) => this.jump(listed(call), viewports.showNear),
      say: (message) => this.toolbar.say(message),
      beginNs: () => this.view?.beginNs ?? 0,
      bounds: () => this.bounds ?? { beginNs: 0, endNs: 0 },
    });
    this.body = el("div", { class: "timeline" }, this.toolbar.element,
      el("div", { class: "timeline-strip" }, this.navigator.surface.element),
      el("div", { class: "timeline-body" },
        el("div", { class: "timeline-canvas" }, this.surface.element), this.panel.element),
      this.status);
    this.body.hidden = true;
    root.append(this.body, this.nothing);
    this.hint = new Hint(root);
    this.panel.showCall(null, []);
    new Gestures(this.surface.element, {
      view: () => this.view,
      bounds: () => this.bounds,
      plot: () => this.plot(),
      moveTo: (view) => this.moveTo(view),
      point: (event) => this.point(event),
      choose: (event) => this.choose(event),
      isMeasuring: () => this.isMeasuring,
      measure: (ruler) => this.measure(ruler),
    });
    const pan = (across: number, down: number) => (): void =>
      this.move((view, bounds) => viewports.pan(view, bounds, across, down));
    this.keys = [
      { key: "ArrowLeft", what: "earlier", press: pan(-0.2, 0) },
      { key: "ArrowRight", what: "later", press: pan(0.2, 0) },
      { key: "ArrowUp", what: "lower ranks", press: pan(0, -0.2) },
      { key: "ArrowDown", what: "higher ranks", press: pan(0, 0.2) },
      { key: "+", what: "zoom in", press: () => this.zoom(0.5) },
      { key: "-", what: "zoom out", press: () => this.zoom(2) },
      { key: "[", what: "more ranks", press: () => this.zoom(2, true) },
      { key: "]", what: "fewer ranks", press: () => this.zoom(0.5, true) },
      { key: "m", what: "messages shown or hidden", press: () => this.turnMessages() },
      { key: "r", what: "ruler: a drag measures time, as it does with Shift", press: () => this.turnRuler() },
      { key: "/", what: "find calls", press: () => this.toolbar.focusSearch() },
      { key: "n", what: "next call that was found", press: () => this.toolbar.find(false) },
      { key: "N", what: "previous call that was found", press: () => this.toolbar.find(true) },
    ];
  }

  refresh(): void {
    if (this.isWriting) return;
    const { place } = this.page;
    const key = keyOfPlace(place);
    if (key !== this.shown) {
      if (place.world !== this.world) this.forget(place.world);
      this.shown = key;
      if (this.bounds !== null) this.view = viewportOf(place, this.bounds);
    }
    this.store.renew(() => false);  // Failed requests are sent again.
    this.rest();
    this.page.load("run", "ranks", { world: place.world, columns: kStripSlots, rows: 1 }, (run) => this.runIs(run));
  }

  unmount(): void {
    cancelAnimationFrame(this.drawing);
    clearTimeout(this.resting);
    this.surface.end();
    this.navigator.end();
  }

  private forget(world: number): void {
    this.world = world;
    this.store.clear();
    this.longest.forget();
    this.finder.forget();
    this.ruler = null;
    this.run = this.bounds = this.view = this.scene = this.chosen = this.wanted = this.hovered = null;
    this.panel.showCall(null, []);
  }

  private runIs(run: Ranks): void {
    const { run_begin_ns, run_end_ns } = run.scope;
    const endNs = this.run?.scope.run_end_ns ?? run_end_ns;
    this.run = run;
    const isEmpty = run.world_size === 0 || run_end_ns <= run_begin_ns;
    this.body.hidden = isEmpty;
    fill(this.nothing, isEmpty && empty("No rank has registered yet.",
      "The timeline begins when one does; the page follows."));
    if (isEmpty) return;
    this.bounds = { beginNs: run_begin_ns, endNs: run_end_ns, ranks: run.world_size };
    // The whole run grows with time. The viewport follows it unless the user is moving it.
    if (this.view === null || (this.page.place.begin === null && this.resting === 0)) {
      this.view = viewportOf(this.page.place, this.bounds);
    }
    // New data is near the end of the run, and where calls still last. Some may be stored after the run has ended.
    this.store.renew((tile, scene) => tile.endNs >= endNs - kLateNs || scene.hasOpenCalls);
    if (run_end_ns !== endNs) this.longest.forget();
    this.longest.retry();
    this.rest();
  }

  private plot(): { left: number; top: number; width: number; height: number } {
    return { left: kLeft, top: kTop, width: Math.max(this.surface.width - kLeft, 1),
             height: Math.max(this.surface.height - kTop, 1) };
  }

  private move(step: (view: Viewport, bounds: Bounds) => Viewport): void {
    if (this.view !== null && this.bounds !== null) this.moveTo(step(this.view, this.bounds));
  }

  private zoom(factor: number, isOfRanks = false): void {
    this.move((view, bounds) => (isOfRanks ? viewports.zoomRanks : viewports.zoomTime)(view, bounds, factor, 0.5));
  }

  private centre(ns: number): void {
    this.move((view, bounds) => {
      const half = (view.endNs - view.beginNs) / 2;
      return viewports.clamp({ ...view, beginNs: ns - half, endNs: ns + half }, bounds);
    });
  }

  private jump(call: Listed, show = viewports.showCall): void {
    this.wanted = call;
    this.move((view, bounds) => show(view, bounds, call.rank, call.beginNs, call.endNs));
  }

  /** One movement. Only the drawing changes now. */
  private moveTo(view: Viewport): void {
    this.view = view;
    this.hovered = null;
    this.changed();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.resting = 0;
      this.write();
      this.rest();
    }, kRestMs) as unknown as number;
  }

  private write(): void {
    const { place } = this.page;
    const change = changeOf(this.view!, this.bounds!, place);
    this.shown = keyOfPlace(changed(place, change));
    this.isWriting = true;
    this.page.go(change, "replace");
    this.isWriting = false;
  }

  /** Requests the visible part, and updates texts and lists. */
  private rest(): void {
    const { view, bounds } = this;
    if (view === null || bounds === null) return;
    const wide = wideTile(view, bounds);
    // If the tile has too many calls for one answer, the screen may have few enough.
    const isTooMuch = this.store.find(wide)?.answer.isTooMuch ?? false;
    this.store.want(isTooMuch ? [wide, tightTile(view, bounds)] : [wide], neighbours(view, bounds));
    this.tell();
  }

  /** Updates the texts and lists that describe the canvas. */
  private tell(): void {
    const { view } = this;
    if (view === null) return;
    const scene = this.scene = bestOf(this.store.all(), view);
    this.changed();
    this.toolbar.show(this.hasMessages(), this.isMeasuring, scene?.answer.detail !== "windows", this.page.theme);
    if (scene === null) {
      this.status.textContent = "Loading.";
      return;
    }
    const like = this.wanted ?? (this.chosen === null ? null : listed(this.chosen));
    const found = like === null ? null : callLike(scene, like);
    if (found !== null) this.chooseCall(found);
    const { width, height } = this.plot();
    const arrows = this.hasMessages() ? arrowsOf(scene, view, width, height) : null;
    fill(this.status, ...statusOf(scene, view, this.store.isWaiting, arrows),
      this.ruler !== null && el("b", { "data-value": "ruler" }, ` Between the two points: ${rulerText(this.ruler)}.`));
    this.longest.tell(scene, view, this.page.place.rank, this.store.isWaiting);
  }

  private chooseCall(call: Call | null): void {
    this.chosen = call;
    this.wanted = null;
    this.panel.showCall(call,
      call === null ? [] : this.scene?.answer.messages.filter((message) => isOf(message, call)) ?? [],
      call === null || this.scene === null ? [] : linkedWith(this.scene, call));
  }

  /** Draws in the next frame. */
  private changed(): void {
    if (this.drawing !== 0) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      const { view, bounds, run } = this;
      if (view === null || bounds === null || run === null) return;
      this.scene = bestOf(this.store.all(), view);
      this.surface.fit();
      draw(this.surface.context, this.surface.width, this.surface.height, {
        view, scene: this.scene, windows: this.windows, ranks: bounds.ranks, rank: this.page.place.rank, theme: this.page.theme, chosen: this.chosen,
        hovered: this.hovered, hasMessages: this.hasMessages(), ruler: this.ruler,
      });
      this.navigator.show(run, view, this.page.theme);
    });
  }

  private hasMessages(): boolean {
    return this.page.place.own.messages !== "off";
  }

  private turnMessages(): void {
    const { messages: _messages, ...own } = this.page.place.own;
    this.page.go({ own: this.hasMessages() ? { ...own, messages: "off" } : own }, "replace");
  }

  private turnRuler(): void {
    this.isMeasuring = !this.isMeasuring;
    if (!this.isMeasuring) this.ruler = null;
    this.body.classList.toggle("is-measuring", this.isMeasuring);
    this.tell();
  }

  private measure(ruler: Ruler | null): void {
    this.ruler = ruler;
    this.tell();
  }

  private point(event: MouseEvent | null): void {
    const { view, scene } = this;
    const before = this.hovered;
    const pointed = event === null || view === null || scene === null ? null
      : pointedAt(scene, view, this.inPlot(event), this.hasMessages());
    this.hovered = pointed?.on ?? null;
    if (event === null || !pointed?.what) this.hint.hide();
    else this.hint.show(event, pointed.what);
    if (this.hovered !== before) this.changed();
  }

  private choose(event: MouseEvent): void {
    const { view, scene } = this;
    if (view === null || scene === null) return;
    if (this.ruler !== null) this.measure(null);
    this.chooseCall(callAt(scene, view, this.inPlot(event)));
    this.changed();
  }

  private inPlot(event: MouseEvent): Point {
    const { x, y } = this.surface.at(event);
    const { width, height } = this.plot();
    return { x: x - kLeft, y: y - kTop, width, height };
  }
}

export const timeline: View = {
  id: "timeline",
  title: "Timeline",
  mount: (root, page) => new TimelineView(root, page),
};
