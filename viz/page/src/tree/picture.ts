// Draws the overlay: one line for each level, the front end at the top, colours by state.

import { duration, rate } from "../format.ts";
import type { TreeNode } from "../answers.ts";
import type { Theme } from "../colours.ts";
import { Hint, lines } from "../hint.ts";
import { Surface } from "../surface.ts";
import { troubleOf } from "./branches.ts";
import { nearest, type Spot } from "./spots.ts";
import { or, roleOf } from "./words.ts";

const kMargin = 18;
/** Diameter of a process in pixels. With less space it is drawn as a narrow box. */
const kDisc = 12;
/** Vermilion, orange and blue of Okabe and Ito. Processes in trouble also have another shape. */
const kLost = "#d55e00";
const kSilent = "#e69f00";
const kWell = "#0072b2";
const kWellOnDark = "#56b4e9";

export class Picture {
  readonly surface: Surface;
  private spots: readonly Spot[] = [];
  private theme: Theme | null = null;
  private chosen: number | null = null;

  constructor(hint: Hint, choose: (node: TreeNode) => void) {
    this.surface = new Surface("The overlay: processes below their parents", () => this.draw());
    const { element } = this.surface;
    element.addEventListener("pointermove", (event) => {
      const spot = this.at(event);
      if (spot === null) return hint.hide();
      const { node } = spot;
      hint.show(event, lines(
        [roleOf(node), node.host], ["state", troubleOf(node) ?? node.state],
        ["messages", or(node.link?.packets_per_s, rate)],
        ["round trip", or(node.link?.round_trip_ns, duration)]));
    });
    element.addEventListener("pointerleave", () => hint.hide());
    element.addEventListener("click", (event) => {
      const spot = this.at(event);
      if (spot !== null) choose(spot.node);
    });
  }

  show(spots: readonly Spot[], chosen: number | null, theme: Theme): void {
    this.spots = spots;
    this.chosen = chosen;
    this.theme = theme;
    this.surface.fit();
    this.draw();
  }

  end(): void {
    this.surface.end();
  }

  private lineHeight(): number {
    const count = Math.max(1, ...this.spots.map((spot) => spot.line));
    return (this.surface.height - 2 * kMargin) / count;
  }

  private xOf(spot: Spot): number {
    return kMargin + spot.x * (this.surface.width - 2 * kMargin);
  }

  private yOf(spot: Spot): number {
    return kMargin + spot.line * this.lineHeight();
  }

  private at(event: MouseEvent): Spot | null {
    const { x, y } = this.surface.at(event);
    const line = Math.round((y - kMargin) / this.lineHeight());
    const spot = nearest(this.spots, (x - kMargin) / (this.surface.width - 2 * kMargin), line);
    if (spot === null) return null;
    const half = Math.max(kDisc, spot.width * (this.surface.width - 2 * kMargin) / 2);
    return Math.abs(this.xOf(spot) - x) <= half && Math.abs(this.yOf(spot) - y) < 16 ? spot : null;
  }

  private draw(): void {
    const { theme } = this;
    if (theme === null) return;
    const { context, width, height } = this.surface;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, width, height);
    context.lineWidth = 1;
    context.strokeStyle = theme.line;
    context.beginPath();
    for (const spot of this.spots) {
      if (spot.parent === null) continue;
      const [x, y, above, top] = [this.xOf(spot), this.yOf(spot), this.xOf(spot.parent), this.yOf(spot.parent)];
      const middle = (y + top) / 2;
      context.moveTo(above, top);
      context.bezierCurveTo(above, middle, x, middle, x, y);
    }
    context.stroke();
    // Processes in trouble are drawn last, so that nothing covers them.
    const ordered = [...this.spots].sort((a, b) => Number(troubleOf(a.node) !== null) - Number(troubleOf(b.node) !== null));
    for (const spot of ordered) this.drawSpot(context, theme, spot, width);
  }

  private drawSpot(context: CanvasRenderingContext2D, theme: Theme, spot: Spot, width: number): void {
    const { node } = spot;
    const trouble = troubleOf(node);
    const [x, y] = [this.xOf(spot), this.yOf(spot)];
    const room = spot.width * (width - 2 * kMargin);
    const size = trouble === null ? Math.min(kDisc, Math.max(room - 1, 1)) : kDisc;
    context.fillStyle = trouble === "lost" ? kLost : trouble === "silent" ? kSilent :
      node.state === "left" ? theme.faint : theme.isDark ? kWellOnDark : kWell;
    context.beginPath();
    if (size < kDisc) context.rect(x - size / 2, y - kDisc / 2, size, kDisc);
    else if (trouble !== null || node.role === "front_end") context.rect(x - size / 2, y - size / 2, size, size);
    else context.arc(x, y, size / 2, 0, 2 * Math.PI);
    context.fill();
    if (trouble === "lost") {
      context.strokeStyle = theme.surface;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x - 3, y - 3);
      context.lineTo(x + 3, y + 3);
      context.moveTo(x + 3, y - 3);
      context.lineTo(x - 3, y + 3);
      context.stroke();
    }
    if (node.id === this.chosen) {
      context.strokeStyle = theme.text;
      context.lineWidth = 2;
      context.strokeRect(x - size / 2 - 4, y - kDisc / 2 - 4, size + 8, kDisc + 8);
    }
    if (room > 64) {
      context.fillStyle = theme.faint;
      context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
      context.textBaseline = "middle";
      context.textAlign = "left";
      context.fillText(node.host, x + size / 2 + 5, y, room - size);
    }
  }
}
