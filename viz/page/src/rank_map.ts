// Draws a grid of ranks x time: the imbalance above, rows with their ranks, the sum of each row at the right.

import type { Ranks } from "./answers.ts";
import { classColour } from "./colours.ts";
import { fill } from "./dom.ts";
import { point, type Box, type Point } from "./drag.ts";
import { moment, percent } from "./format.ts";
import { imbalance, maxOf, ordered, timeShare, type Order, type Row } from "./grid.ts";
import { Heat } from "./heat.ts";
import { Hint } from "./hint.ts";
import { ticks, type Range } from "./range.ts";
import { Surface } from "./surface.ts";
import type { Page } from "./view.ts";

/** The cell below the pointer. */
export interface Spot {
  readonly row: Row;
  readonly column: number;
}

export interface RankMapOwner {
  hovers(hint: Hint, event: MouseEvent, spot: Spot): void;
  clicked(spot: Spot): void;
  choseTime(range: Range): void;
  choseRanks(first: number, end: number): void;
  wheel(at: number, turns: number): void;
}

const kRight = 84, kAbove = 46, kBelow = 22, kGap = 6;
/** Minimum and maximum width for the names of hosts and ranks. */
const kMinLeft = 60, kMaxLeft = 190;
const kFont = '11px system-ui, "DejaVu Sans", sans-serif';
/** With more columns, a column has two pixels at most, and the answer for 1024 ranks is larger than 300 KB. */
const kMaxColumns = 400;

function nameOf(row: Row): string {
  return row.ranks === 1 ? String(row.first_rank) : `${row.first_rank}–${row.first_rank + row.ranks - 1}`;
}

export class RankMap {
  private readonly surface = new Surface("Ranks × time", () => this.draw());
  private readonly hint: Hint;
  private readonly heat = new Heat();
  private grid: Ranks | null = null;
  private rows: Row[] = [];
  private box: Box | null = null;
  private isOfRanks = false;
  private left = kMinLeft;
  private hostWidth = 0;

  constructor(private readonly parent: HTMLElement, private readonly page: Page, private readonly owner: RankMapOwner) {
    fill(parent, this.surface.element);
    this.hint = new Hint(parent);
    addEventListener("keydown", this.shift);
    addEventListener("keyup", this.shift);
    point(this.surface.element, {
      rests: (at, event) => {
        const spot = this.spotAt(at);
        if (spot === null) {
          this.hint.hide();
        } else {
          this.owner.hovers(this.hint, event, spot);
        }
      },
      left: () => this.hint.hide(),
      clicked: (at) => {
        const spot = this.spotAt(at);
        if (spot !== null) this.owner.clicked(spot);
      },
      draws: (box) => {
        this.box = box;
        this.hint.hide();
        this.draw();
      },
      drew: (box) => this.drew(box),
      wheel: (at, turns) => {
        if (this.grid !== null) this.owner.wheel(this.timeAt(at.x), turns);
      },
    });
  }

  /** The number of slots for the width of the drawing. */
  maxColumns(): number {
    this.surface.fit();
    return Math.max(10, Math.min(kMaxColumns, Math.floor(this.width)));
  }

  /** Shows a grid; null: only forgets the old one. */
  show(grid: Ranks | null, order: Order): void {
    this.grid = grid;
    if (grid === null) return;
    if (!this.surface.element.isConnected) fill(this.parent, this.surface.element);
    this.hint.hide();
    if (!this.parent.querySelector(".hint")) this.parent.append(this.hint.element);
    this.rows = ordered(grid.rows, order);
    const max = Math.max(1e-300, maxOf(grid));
    this.heat.paint(grid.columns, this.rows.length, this.page.theme, (number, column) => {
      const row = this.rows[number]!;
      const cell = row.cells[column] ?? 0;
      if (cell === 0) return null;
      return timeShare(row, column) ?? cell / row.ranks / max;
    });
    this.surface.label(`${grid.world_size} ranks × time, ${grid.value}; the table below has the sums`);
    this.surface.fit();
    this.measure();
    this.draw();
  }

  end(): void {
    this.surface.end();
    removeEventListener("keydown", this.shift);
    removeEventListener("keyup", this.shift);
  }

  private readonly shift = (event: KeyboardEvent): void => {
    if (event.key === "Shift" && this.box === null) this.isOfRanks = event.type === "keydown";
  };

  private measure(): void {
    const { context } = this.surface;
    context.font = kFont;
    const widest = (names: string[]): number => Math.max(0, ...names.map((name) => context.measureText(name).width));
    const ranks = widest(this.rows.slice(-40).map(nameOf));
    this.hostWidth = Math.min(kMaxLeft - ranks - 16, widest([...new Set(this.rows.map((row) => row.host))]));
    this.left = Math.max(kMinLeft, Math.ceil(this.hostWidth + ranks + 18));
  }

  private get width(): number {
    return Math.max(1, this.surface.width - this.left - kRight);
  }

  private get height(): number {
    return Math.max(1, this.surface.height - kAbove - kBelow);
  }

  private timeAt(x: number): number {
    const { begin_ns, end_ns } = this.grid!.scope;
    const share = Math.max(0, Math.min(1, (x - this.left) / this.width));
    return begin_ns + share * (end_ns - begin_ns);
  }

  private rowAt(y: number): number {
    return Math.max(0, Math.min(this.rows.length - 1, Math.floor((y - kAbove) / this.height * this.rows.length)));
  }

  private spotAt(at: Point): Spot | null {
    const { grid } = this;
    if (grid === null || at.x < this.left || at.x >= this.left + this.width || at.y < kAbove || at.y >= kAbove + this.height) {
      return null;
    }
    const column = Math.floor((this.timeAt(at.x) - grid.scope.begin_ns) / grid.slot_ns);
    return { row: this.rows[this.rowAt(at.y)]!, column: Math.min(grid.columns - 1, column) };
  }

  private drew(box: Box | null): void {
    this.box = null;
    this.draw();
    if (box === null || this.grid === null) return;
    if (this.isOfRanks) {
      const chosen = this.rows.slice(Math.min(this.rowAt(box.from.y), this.rowAt(box.to.y)),
        Math.max(this.rowAt(box.from.y), this.rowAt(box.to.y)) + 1);
      this.owner.choseRanks(Math.min(...chosen.map((row) => row.first_rank)),
        Math.max(...chosen.map((row) => row.first_rank + row.ranks)));
      return;
    }
    const [one, other] = [this.timeAt(box.from.x), this.timeAt(box.to.x)];
    if (Math.abs(one - other) >= 1) this.owner.choseTime({ begin: Math.min(one, other), end: Math.max(one, other) });
  }

  private draw(): void {
    const { context, width, height } = this.surface;
    const { theme } = this.page;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, width, height);
    if (this.grid === null) return;
    const { scope, slot_ns, columns } = this.grid;
    const share = columns * slot_ns / Math.max(1, scope.end_ns - scope.begin_ns);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.width, height);
    context.clip();
    this.heat.draw(context, this.left, kAbove, this.width * share, this.height);
    this.drawImbalance(context, this.width * share / columns);
    context.restore();
    context.strokeStyle = theme.line;
    context.strokeRect(this.left - 0.5, kAbove - 0.5, this.width + 1, this.height + 1);
    this.drawTime(context);
    this.drawRows(context);
    if (this.box !== null) this.drawBox(context, this.box);
  }

  private drawImbalance(context: CanvasRenderingContext2D, step: number): void {
    const grid = this.grid!;
    const values = Array.from({ length: grid.columns }, (_, column) => imbalance(grid, column));
    const max = Math.max(0.01, ...values.map((value) => value ?? 0));
    const tall = kAbove - kGap - 14;
    context.strokeStyle = classColour("collective");
    context.lineWidth = 1.5;
    context.beginPath();
    let isDown = false;
    values.forEach((value, column) => {
      if (value === null) {
        isDown = false;
        return;
      }
      const y = kAbove - kGap - tall * value / max;
      const x = this.left + (column + 0.5) * step;
      if (isDown) context.lineTo(x, y);
      else context.moveTo(x - 0.5 * step, y);
      isDown = true;
    });
    context.stroke();
    context.lineWidth = 1;
    context.fillStyle = this.page.theme.faint;
    context.font = kFont;
    context.textAlign = "left";
    context.textBaseline = "top";
    context.fillText(`imbalance: the most of a rank over the mean; up to ${percent(max)}`, this.left + 2, 1);
  }

  private drawTime(context: CanvasRenderingContext2D): void {
    const { begin_ns: begin, end_ns: end } = this.grid!.scope;
    const { step, at } = ticks({ begin, end }, Math.max(2, this.width / 90));
    context.fillStyle = this.page.theme.faint;
    context.font = kFont;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const time of at) {
      const x = this.left + (time - begin) / Math.max(1, end - begin) * this.width;
      context.fillRect(x, kAbove + this.height, 1, 4);
      context.fillText(moment(time, step), x, kAbove + this.height + 6);
    }
  }

  /** Draws the names of as many ranks as fit, a host's name at its first rank, and a bar with each row's sum. */
  private drawRows(context: CanvasRenderingContext2D): void {
    const { theme } = this.page;
    const tall = this.height / this.rows.length;
    const every = Math.max(1, Math.ceil(13 / tall));
    const max = Math.max(1e-300, ...this.rows.map((row) => row.total / row.ranks));
    const isChosen = (row: Row): boolean => this.page.place.rank === row.first_rank && row.ranks === 1;
    context.font = kFont;
    context.textBaseline = "middle";
    this.rows.forEach((row, number) => {
      const y = kAbove + number * tall;
      context.fillStyle = isChosen(row) ? theme.accent : theme.faint;
      context.fillRect(this.left + this.width + 8, y + (tall > 4 ? 1 : 0),
        (kRight - 12) * row.total / row.ranks / max, Math.max(0.5, tall > 4 ? tall - 2 : tall));
      if (number % every !== 0 && !isChosen(row)) return;
      context.textAlign = "right";
      context.fillStyle = isChosen(row) ? theme.accent : theme.text;
      context.fillText(nameOf(row), this.left - 6, y + tall / 2);
      const isNewHost = row.host !== "" && row.host !== this.rows[number - every]?.host;
      context.textAlign = "left";
      context.fillStyle = theme.faint;
      if (isNewHost) context.fillText(row.host, 0, y + tall / 2, this.hostWidth);
    });
    context.textBaseline = "top";
    context.textAlign = "left";
    context.fillStyle = theme.faint;
    context.fillText("in all", this.left + this.width + 8, kAbove - 14);
    context.fillText("host, rank", 0, kAbove - 24);
  }

  private drawBox(context: CanvasRenderingContext2D, box: Box): void {
    context.fillStyle = this.page.theme.accent;
    context.globalAlpha = 0.3;
    if (this.isOfRanks) {
      context.fillRect(this.left, Math.min(box.from.y, box.to.y), this.width, Math.abs(box.to.y - box.from.y));
    } else {
      context.fillRect(Math.min(box.from.x, box.to.x), kAbove, Math.abs(box.to.x - box.from.x), this.height);
    }
    context.globalAlpha = 1;
  }
}
