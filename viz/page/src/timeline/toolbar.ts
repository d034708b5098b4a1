// The timeline's buttons, and the legend of its colours.

import { classColour, colourOf, kShownClasses, scaleOf, type Theme } from "../colours.ts";
import { choice, el, fill } from "../dom.ts";

export interface ToolbarOwner {
  zoom(factor: number): void;
  showAll(): void;
  turnMessages(): void;
}

export class Toolbar {
  readonly element: HTMLElement;
  private readonly settings = el("span");
  private readonly legend = el("span", { class: "legend" });

  constructor(private readonly owner: ToolbarOwner) {
    const button = (text: string, title: string, press: () => void): HTMLElement =>
      el("button", { type: "button", title, click: press }, text);
    this.element = el("div", { class: "toolbar" }, this.settings,
      button("Zoom in", "Key +; or the wheel, around the pointer", () => owner.zoom(0.5)),
      button("Zoom out", "Key -", () => owner.zoom(2)),
      button("Show all", "All ranks and all of the time", () => owner.showAll()),
      this.legend);
  }

  show(hasMessages: boolean, isOfCalls: boolean, theme: Theme): void {
    fill(this.settings, choice("Messages", [["on", "shown"], ["off", "hidden"]], hasMessages ? "on" : "off",
      () => this.owner.turnMessages()));
    fill(this.legend, ...(isOfCalls ? classes() : shares(theme)));
  }
}

function classes(): HTMLElement[] {
  return kShownClasses.map((name) => {
    const mark = el("span", { class: "class-mark" });
    mark.style.background = classColour(name);
    return el("span", {}, mark, name.replaceAll("_", " "));
  });
}

function shares(theme: Theme): HTMLElement[] {
  const bar = el("span", { class: "legend-bar" });
  const scale = scaleOf(theme.isDark);
  const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => colourOf(scale, share));
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return [el("span", {}, "in MPI: 0 % ", bar, " 100 %")];
}
