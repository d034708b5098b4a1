// Cells of a grid as colours: painted once into a picture of a pixel each, drawn as large as there is room.

import { colourOf, scaleOf, stepOf, type Theme } from "./colours.ts";
import { el } from "./dom.ts";

export class Heat {
  private readonly picture = document.createElement("canvas");
  private readonly context = this.picture.getContext("2d")!;
  columns = 0;
  rows = 0;

  /** `shareAt` gives each cell's share of 0 to 1; of a cell without a value null, which stays empty. */
  paint(columns: number, rows: number, theme: Theme, shareAt: (row: number, column: number) => number | null): void {
    this.columns = columns;
    this.rows = rows;
    if (columns === 0 || rows === 0) return;
    this.picture.width = columns;
    this.picture.height = rows;
    const scale = scaleOf(theme.isDark);
    const image = this.context.createImageData(columns, rows);
    for (let row = 0, at = 0; row < rows; ++row) {
      for (let column = 0; column < columns; ++column, at += 4) {
        const share = shareAt(row, column);
        if (share === null) continue;
        const step = 3 * stepOf(share);
        image.data[at] = scale[step]!;
        image.data[at + 1] = scale[step + 1]!;
        image.data[at + 2] = scale[step + 2]!;
        image.data[at + 3] = 255;
      }
    }
    this.context.putImageData(image, 0, 0);
  }

  /** Into a box of another canvas, every cell with sharp edges. */
  draw(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    if (this.columns === 0 || this.rows === 0) return;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, x, y, width, height);
  }

  /** Columns [first, last) of one row, into a box of another canvas. */
  drawRow(
      context: CanvasRenderingContext2D, row: number, first: number, last: number,
      x: number, y: number, width: number, height: number): void {
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, first, row, last - first, 1, x, y, width, height);
  }
}

/** What the colours mean: from the least to the most, as text. `from` is the share that stands for the least. */
export function legend(theme: Theme, least: string, most: string, from = 0): HTMLElement {
  const scale = scaleOf(theme.isDark);
  const stops = Array.from({ length: 18 }, (_, at) => colourOf(scale, from + (1 - from) * at / 17));
  const bar = el("span", { class: "legend-bar", "aria-hidden": "true" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return el("span", { class: "legend" }, least, bar, most);
}
