// The timeline's buttons, its search, and the legend of its colours.

import { classColour, classText, colourOf, kShownClasses, scaleOf, type Theme } from "../colours.ts";
import { choice, el, fill } from "../dom.ts";

export interface ToolbarOwner {
  zoom(factor: number): void;
  showAll(): void;
  turnMessages(): void;
  turnRuler(): void;
  find(text: string, isBack: boolean): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  private readonly settings = el("span");
  private readonly legend = el("span", { class: "legend" });
  private readonly ruler: HTMLElement;
  private readonly text = el("input", {
    type: "search", placeholder: "MPI_Send peer=3 tag=7", "aria-label": "Find calls",
    title: "Key /; a function, peer=, tag=, comm=, rank=. Enter: the next call; Shift and Enter: the previous one",
    keydown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      if (event.key === "Escape") this.text.blur();
      else this.find(event.shiftKey);
    },
  });
  private readonly found = el("span", { class: "faint", role: "status", "data-value": "found" });

  constructor(private readonly owner: ToolbarOwner) {
    const button = (text: string, title: string, press: () => void): HTMLElement =>
      el("button", { type: "button", title, click: press }, text);
    this.ruler = button("Ruler", "Key r: a drag measures time; with Shift it always does", () => owner.turnRuler());
    this.element = el("div", { class: "toolbar" }, this.settings,
      button("Zoom in", "Key +; or the wheel, around the pointer", () => owner.zoom(0.5)),
      button("Zoom out", "Key -", () => owner.zoom(2)),
      button("Show all", "All ranks and all of the time", () => owner.showAll()),
      this.ruler,
      el("span", { class: "finder" }, this.text,
        button("◂", "Previous call that matches (key N)", () => this.find(true)),
        button("▸", "Next call that matches (key n)", () => this.find(false)), this.found),
      this.legend);
  }

  find(isBack: boolean): void {
    this.owner.find(this.text.value, isBack);
  }

  focusSearch(): void {
    this.text.focus();
    this.text.select();
  }

  /** The outcome of the search. */
  say(message: string): void {
    this.found.textContent = message;
  }

  show(hasMessages: boolean, isMeasuring: boolean, isOfCalls: boolean, theme: Theme): void {
    this.ruler.setAttribute("aria-pressed", String(isMeasuring));
    fill(this.settings, choice("Messages", [["on", "shown"], ["off", "hidden"]], hasMessages ? "on" : "off",
      () => this.owner.turnMessages()));
    fill(this.legend, ...(isOfCalls ? classes() : shares(theme)));
  }
}

function classes(): HTMLElement[] {
  return kShownClasses.map((name) => {
    const mark = el("span", { class: "class-mark" });
    mark.style.background = classColour(name);
    return el("span", {}, mark, classText(name));
  });
}

function shares(theme: Theme): HTMLElement[] {
  const bar = el("span", { class: "legend-bar" });
  const scale = scaleOf(theme.isDark);
  const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => colourOf(scale, share));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return [el("span", {}, "in MPI: 0 % ", bar, " 100 %")];
}
