// Cells of a grid as colours. They are painted once into a picture with one pixel for each cell, and then scaled.

import { colourOf, scaleOf, stepOf, type Rgb, type Theme } from "./colours.ts";
import { el } from "./dom.ts";

export class Heat {
  private readonly picture = document.createElement("canvas");
  private readonly context = this.picture.getContext("2d")!;
  columns = 0;
  rows = 0;

  /** `shareAt` returns the share of a cell, 0 to 1; null: the cell stays empty. */
  paint(columns: number, rows: number, theme: Theme, shareAt: (row: number, column: number) => number | null): void {
    const scale = scaleOf(theme.isDark);
    this.paintColours(columns, rows, (row, column) => {
      const share = shareAt(row, column);
      if (share === null) return null;
      const step = 3 * stepOf(share);
      return [scale[step]!, scale[step + 1]!, scale[step + 2]!];
    });
  }

  /** `colourAt` returns red, green and blue of a cell, 0 to 255; null: the cell stays empty. */
  paintColours(columns: number, rows: number, colourAt: (row: number, column: number) => Rgb | null): void {
    this.columns = columns;
    this.rows = rows;
    if (columns === 0 || rows === 0) return;
    this.picture.width = columns;
    this.picture.height = rows;
    const image = this.context.createImageData(columns, rows);
    for (let row = 0, at = 0; row < rows; ++row) {
      for (let column = 0; column < columns; ++column, at += 4) {
        const colour = colourAt(row, column);
        if (colour === null) continue;
        [image.data[at], image.data[at + 1], image.data[at + 2]] = colour;
        image.data[at + 3] = 255;
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  /** Draws the picture into a box of another canvas. Cells keep sharp edges. */
  draw(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    if (this.columns === 0 || this.rows === 0) return;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, x, y, width, height);
  }

  /** Draws columns [first, last) of one row into a box of another canvas. */
  drawRow(
      context: CanvasRenderingContext2D, row: number, first: number, last: number,
      x: number, y: number, width: number, height: number): void {
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, first, row, last - first, 1, x, y, width, height);
  }
}

/** The scale of colours, with the lowest and the highest value as text. `from` is the share of the lowest value. */
export function legend(theme: Theme, min: string, max: string, from = 0): HTMLElement {
  const scale = scaleOf(theme.isDark);
  const stops = Array.from({ length: 18 }, (_, at) => colourOf(scale, from + (1 - from) * at / 17));
  const bar = el("span", { class: "legend-bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return el("span", { class: "legend" }, min, bar, max);
}
