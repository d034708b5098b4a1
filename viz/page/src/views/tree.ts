// The overlay, as a drawing and as a table of its processes, each below its parent.

import "../tree/tree.css";
import type { Tree, TreeNode } from "../answers.ts";
import { el, empty, fill, type Child } from "../dom.ts";
import { bytes, count, duration, moment, plural, rate } from "../format.ts";
import { Hint } from "../hint.ts";
import { branchesOf, branchOf, troubleOf, type Branch } from "../tree/branches.ts";
import { Picture } from "../tree/picture.ts";
import { hostsOf, linkOf, rowsOf, type Row } from "../tree/rows.ts";
import { spotsOf } from "../tree/spots.ts";
import { linesOf, or, rolesOf, stateOf } from "../tree/words.ts";
import type { Mounted, Page, View } from "../view.ts";

/** Heights in the drawing, in pixels. */
const kLevelHeight = 62;
const kMaxHeight = 260;

class TreeView implements Mounted {
  private readonly hint: Hint;
  private readonly picture: Picture;
  private readonly frame = el("div", { class: "tree-picture" });
  private readonly summary = el("p", { class: "summary", role: "status" });
  private readonly body = el("tbody");
  private readonly panel = el("aside", { class: "tree-panel", "aria-label": "Chosen process" });
  private readonly parts: HTMLElement;
  private readonly nothing = el("div");
  private readonly open = new Set<string>();
  private answer: Tree | null = null;
  private chosen: number | null = null;

  constructor(root: HTMLElement, private readonly page: Page) {
    const heads = ["process", "host", "state", "ranks", "messages", "bytes", "queue", "round trip", "why there"];
    const numbers = new Set(["ranks", "messages", "bytes", "queue", "round trip"]);
    this.parts = el("div", { class: "tree" }, this.summary, this.frame,
      el("div", { class: "tree-body" },
        el("div", { class: "tree-table" }, el("table", {},
          el("caption", { class: "unseen" }, "Processes of the overlay, each below its parent"),
          el("thead", {}, el("tr", {}, ...heads.map((head) =>
            el("th", { scope: "col", class: numbers.has(head) ? "number" : null }, head)))),
          this.body)),
        this.panel));
    this.parts.hidden = true;
    root.append(this.parts, this.nothing);
    this.hint = new Hint(root);
    this.picture = new Picture(this.hint, (node) => this.choose(node));
    this.frame.append(this.picture.surface.element);
  }

  refresh(): void {
    const { end } = this.page.place;
    this.page.load("tree", "tree", { at_ns: end === null ? null : Math.round(end) }, (answer) => {
      this.answer = answer;
      this.show(answer);
    });
  }

  unmount(): void {
    this.picture.end();
  }

  private choose(node: TreeNode): void {
    this.chosen = node.id;
    if (this.answer !== null) this.show(this.answer);
  }

  private show(answer: Tree): void {
    const isEmpty = answer.nodes.length === 0;
    this.parts.hidden = isEmpty;
    fill(this.nothing, isEmpty && empty("No process of the overlay is known yet.",
      "It appears when the run's first back end has registered; the page follows."));
    if (isEmpty) return;
    const roots = branchesOf(answer.nodes);
    const spots = spotsOf(roots);
    const levels = Math.max(1, ...spots.map((spot) => spot.line));
    this.frame.style.height = `${Math.min(kMaxHeight, 36 + kLevelHeight * levels)}px`;
    this.picture.show(spots, this.chosen, this.page.theme);
    this.picture.surface.label(this.words(answer));
    this.showSummary(answer);
    fill(this.body, ...rowsOf(roots, this.open).map((row) => this.line(row)));
    this.showPanel(answer, roots);
  }

  private words(answer: Tree): string {
    return ["front_end", "comm_process", "back_end", "program"].flatMap((role) => {
      const of = answer.nodes.filter((node) => node.role === role);
      return of.length === 0 ? [] : [of.length === 1 ? `1 ${rolesOf(of[0]!, 1)}` : rolesOf(of[0]!, of.length)];
    }).join(", ");
  }

  private showSummary(answer: Tree): void {
    const lost = answer.nodes.filter((node) => troubleOf(node) === "lost").length;
    const silent = answer.nodes.filter((node) => troubleOf(node) === "silent").length;
    fill(this.summary, el("b", {}, this.words(answer)), `, as it was at ${moment(answer.at_ns, 1e8)} of the run. `,
      lost > 0 && el("b", { class: "bad", "data-value": "lost" }, `${plural(lost, "process", "processes")} lost. `),
      silent > 0 && el("b", { class: "bad" }, `${plural(silent, "process", "processes")} silent. `));
  }

  private showPanel(answer: Tree, roots: readonly Branch[]): void {
    const node = answer.nodes.find((one) => one.id === this.chosen) ?? roots[0]!.node;
    fill(this.panel, el("h2", {}, rolesOf(node, 1)), linesOf(node, branchOf(roots, node.id)?.ranks ?? node.ranks));
  }

  private line(row: Row): HTMLElement {
    const node = row.nodes[0]!;
    const link = linkOf(row.nodes);
    const cells: [string, Child, boolean][] = [
      ["process", el("span", { class: "tree-branch" }, ...guides(row), this.handle(row),
        rolesOf(node, row.nodes.length)), false],
      ["host", el("span", { title: hostsOf(row.nodes) }, hostsOf(row.nodes)), false],
      ["state", stateOf(node), false],
      ["ranks", count(row.ranks), true],
      ["messages", or(link.packetsPerS, rate), true],
      ["bytes", or(link.bytesPerS, (value) => `${bytes(value)}/s`), true],
      ["queue", or(link.queueBytes, bytes), true],
      ["round_trip", or(link.roundTripNs, duration), true],
      ["reason", el("span", { title: node.reason }, node.reason ?? ""), false],
    ];
    const line = el("tr", { class: "chosen-by-click", tabindex: 0, "data-id": row.isFolded ? null : node.id,
                            "data-nodes": row.nodes.map((one) => one.id).join(" "),
                            "aria-selected": row.nodes.some((one) => one.id === this.chosen) ? "true" : "false" },
      ...cells.map(([column, cell, isNumber]) =>
        el("td", { "data-column": column, class: isNumber ? "number" : null }, cell)));
    const act = (): void => row.isFolded ? this.turn(row.fold!) : this.choose(node);
    line.addEventListener("click", act);
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter") act();
    });
    return line;
  }

  /** The button that folds or unfolds similar back ends. */
  private handle(row: Row): Child {
    if (row.fold === null) return null;
    const fold = row.fold;
    return el("button", { type: "button", class: "tree-handle", "aria-expanded": row.isFolded ? "false" : "true",
                          title: row.isFolded ? "Show each" : "Show them as one", click: (event: Event) => {
      event.stopPropagation();
      this.turn(fold);
    } }, row.isFolded ? "▸" : "▾");
  }

  private turn(fold: string): void {
    if (!this.open.delete(fold)) this.open.add(fold);
    if (this.answer !== null) this.show(this.answer);
  }
}

/** The lines of the tree in front of a process. */
function guides(row: Row): HTMLElement[] {
  return row.goesOn.map((goesOn, at) =>
    el("span", { "aria-hidden": "true",
                 class: `tree-guide${at + 1 === row.depth ? " here" : ""}${goesOn ? " on" : ""}` }));
}

export const tree: View = {
  id: "tree",
  title: "Tree",
  mount: (root, page) => new TreeView(root, page),
};
