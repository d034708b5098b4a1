// Draws a matrix of ranks: rows downwards, columns to the right, both beginning with the lowest rank.

import type { Matrix } from "./answers.ts";
import { fill } from "./dom.ts";
import { point, type Box, type Point } from "./drag.ts";
import { Heat } from "./heat.ts";
import { Hint } from "./hint.ts";
import { ticks } from "./range.ts";
import { Surface } from "./surface.ts";
import type { Page } from "./view.ts";

/** A cell; `row` and `column` are the first ranks of its blocks. */
export interface Pair {
  readonly row: number;
  readonly column: number;
  readonly count: number;
  readonly amount: number;
}

export interface SquareOwner {
  hovers(hint: Hint, event: MouseEvent, pair: Pair): void;
  clicked(pair: Pair): void;
  /** The user has drawn a box around these ranks; the ends are exclusive. */
  chose(firstRow: number, endRow: number, firstColumn: number, endColumn: number): void;
}

const kLeft = 52, kAbove = 34, kMargin = 8;
const kFont = '11px system-ui, "DejaVu Sans", sans-serif';
/** The server's maximum for each side. */
const kMaxBlocks = 512;
/** On a logarithmic scale the smallest value has this share, so that it differs from an empty cell. */
const kLeastShare = 0.15;

/** A scale of colours: the values that stand for `leastShare` and for 1. */
export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly leastShare: number;
  /** The share of a value above 0. */
  readonly shareOf: (value: number) => number;
}

/**
 * The scale for the values of a matrix, of which those above 0 count. A linear scale begins at 0. A logarithmic scale
 * spans a factor of ten at least, so that values that differ little have colours that differ little.
 */
export function scaleFor(values: readonly number[], isLogarithmic: boolean): Scale {
  const max = values.reduce((max, value) => Math.max(max, value), 0);
  if (!isLogarithmic || max === 0) return { min: 0, max, leastShare: 0, shareOf: (value) => value / max };
  const smallest = values.reduce((min, value) => value > 0 ? Math.min(min, value) : min, max);
  const min = Math.min(smallest, max / 10);
  const span = Math.log(max / min);
  return { min, max, leastShare: kLeastShare,
           shareOf: (value) => kLeastShare + (1 - kLeastShare) * Math.log(value / min) / span };
}

function cellsOf({ value, first_row, end_row, first_column, end_column, block }: Matrix): string {
  return `${value} ${first_row} ${end_row} ${first_column} ${end_column} ${block}`;
}

export class Square {
  private readonly surface = new Surface("Communication matrix", () => this.draw());
  private readonly hint: Hint;
  private readonly heat = new Heat();
  private matrix: Matrix | null = null;
  private pairs = new Map<number, Pair>();
  private box: Box | null = null;
  scale: Scale = scaleFor([], false);

  constructor(parent: HTMLElement, private readonly page: Page, private readonly owner: SquareOwner) {
    fill(parent, this.surface.element);
    this.hint = new Hint(parent);
    point(this.surface.element, {
      rests: (at, event) => {
        const pair = this.pairAt(at);
        if (pair === null) this.hint.hide();
        else this.owner.hovers(this.hint, event, pair);
      },
      left: () => this.hint.hide(),
      clicked: (at) => {
        const pair = this.pairAt(at);
        if (pair !== null) this.owner.clicked(pair);
      },
      draws: (box) => {
        this.box = box;
        this.hint.hide();
        this.draw();
      },
      drew: (box) => this.drew(box),
    });
  }

  /** The number of blocks with at least one pixel each. */
  maxBlocks(): number {
    this.surface.fit();
    return Math.max(16, Math.min(kMaxBlocks, Math.floor(this.size)));
  }

  show(matrix: Matrix, pairs: readonly Pair[], valueOf: (pair: Pair) => number, isLogarithmic: boolean): void {
    if (this.matrix === null || cellsOf(this.matrix) !== cellsOf(matrix)) this.hint.hide();  // Its cell is gone.
    this.matrix = matrix;
    this.pairs = new Map(pairs.map((pair) => [this.key(pair.row, pair.column), pair]));
    this.scale = scaleFor(pairs.map(valueOf), isLogarithmic);
    this.heat.paint(this.columns, this.rows, this.page.theme, (row, column) => {
      const pair = this.pairs.get(this.key(matrix.first_row + row * matrix.block, matrix.first_column + column * matrix.block));
      const value = pair === undefined ? 0 : valueOf(pair);
      return value <= 0 ? null : this.scale.shareOf(value);
    });
    this.surface.label(`Matrix of ${matrix.value} of ${matrix.world_size} ranks; the table beside it has the largest pairs`);
    this.draw();
  }

  end(): void {
    this.surface.end();
  }

  private key(row: number, column: number): number {
    return row * 2 ** 26 + column;
  }

  private get rows(): number {
    const { first_row, end_row, block } = this.matrix!;
    return Math.ceil((end_row - first_row) / block);
  }

  private get columns(): number {
    const { first_column, end_column, block } = this.matrix!;
    return Math.ceil((end_column - first_column) / block);
  }

  private get size(): number {
    return Math.max(1, Math.min(this.surface.width - kLeft, this.surface.height - kAbove) - kMargin);
  }

  /** Cells are squares, even if the selected part of the matrix is not. */
  private get cell(): number {
    return this.size / Math.max(1, this.rows, this.columns);
  }

  private at({ x, y }: Point): { row: number; column: number } {
    const inside = (number: number, size: number): number => Math.max(0, Math.min(size - 1, Math.floor(number)));
    return { row: inside((y - kAbove) / this.cell, this.rows), column: inside((x - kLeft) / this.cell, this.columns) };
  }

  private pairAt(at: Point): Pair | null {
    if (this.matrix === null) return null;
    const { first_row, first_column, block } = this.matrix;
    if (at.x < kLeft || at.y < kAbove || at.x >= kLeft + this.columns * this.cell || at.y >= kAbove + this.rows * this.cell) {
      return null;
    }
    const { row, column } = this.at(at);
    const [first, second] = [first_row + row * block, first_column + column * block];
    return this.pairs.get(this.key(first, second)) ?? { row: first, column: second, count: 0, amount: 0 };
  }

  private drew(box: Box | null): void {
    this.box = null;
    this.draw();
    if (box === null || this.matrix === null) return;
    const { first_row, end_row, first_column, end_column, block } = this.matrix;
    const [one, other] = [this.at(box.from), this.at(box.to)];
    this.owner.chose(
      first_row + Math.min(one.row, other.row) * block,
      Math.min(end_row, first_row + (Math.max(one.row, other.row) + 1) * block),
      first_column + Math.min(one.column, other.column) * block,
      Math.min(end_column, first_column + (Math.max(one.column, other.column) + 1) * block));
  }

  private draw(): void {
    const { context, width, height } = this.surface;
    const { theme } = this.page;
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, width, height);
    if (this.matrix === null) return;
    const wide = this.columns * this.cell, tall = this.rows * this.cell;
    this.heat.draw(context, kLeft, kAbove, wide, tall);
    context.strokeStyle = theme.line;
    context.strokeRect(kLeft - 0.5, kAbove - 0.5, wide + 1, tall + 1);
    this.drawRanks(context);
    if (this.box === null) return;
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.3;
    const { from, to } = this.box;
    context.fillRect(Math.min(from.x, to.x), Math.min(from.y, to.y), Math.abs(to.x - from.x), Math.abs(to.y - from.y));
    context.globalAlpha = 1;
  }

  private drawRanks(context: CanvasRenderingContext2D): void {
    const { first_row, end_row, first_column, end_column, block, value } = this.matrix!;
    context.font = kFont;
    context.fillStyle = this.page.theme.text;
    context.textBaseline = "middle";
    const marks = (first: number, end: number): number[] =>
      ticks({ begin: first, end: end - 1 }, Math.max(2, this.size / 34)).at.filter((rank) => Number.isInteger(rank));
    const centre = (rank: number, first: number): number => ((rank - first) / block + 0.5 / Math.min(block, 2)) * this.cell;
    context.textAlign = "right";
    for (const rank of marks(first_row, end_row)) context.fillText(String(rank), kLeft - 5, kAbove + centre(rank, first_row));
    context.textAlign = "center";
    for (const rank of marks(first_column, end_column)) {
      context.fillText(String(rank), kLeft + centre(rank, first_column), kAbove - 9);
    }
    context.fillStyle = this.page.theme.faint;
    context.textAlign = "left";
    context.fillText(value === "waits" ? "waits for →" : "receives →", kLeft, 8);
    context.fillText(value === "waits" ? "waits ↓" : "sends ↓", 0, kAbove - 9);
  }
}
