// Grids on the timeline: the share of time in MPI in each slot, from windows or as densities of calls. Densities have
// the colour of the class with the most time. An answer has up to 256 rows of 600 slots. They are painted once, one
// pixel each. After a movement only the visible rows are drawn again, scaled.

import { classColour, densityColour, rgbOf, type Theme } from "../colours.ts";
import { classIn } from "../grid.ts";
import { Heat } from "../heat.ts";
import { kGapFrom } from "./geometry.ts";
import { shareOf, type Scene } from "./scene.ts";
import { rankToY, timeToX, type Viewport } from "./viewport.ts";

export class Windows {
  private readonly heat = new Heat();
  private painted: Scene | null = null;
  private isDark = false;

  draw(canvas: CanvasRenderingContext2D, width: number, height: number, view: Viewport, theme: Theme, scene: Scene): void {
    const { grid, gridBeginNs } = scene;
    if (grid === null) return;
    if (this.painted !== scene || this.isDark !== theme.isDark) {
      this.painted = scene;
      this.isDark = theme.isDark;
      if (scene.answer.detail === "densities") this.paintDensities(scene, theme);
      else this.heat.paint(grid.columns, grid.rows.length, theme, (row, column) => shareOf(grid, row, column) || null);
    }
    const first = Math.max(Math.floor((view.beginNs - gridBeginNs) / grid.slot_ns), 0);
    const last = Math.min(Math.ceil((view.endNs - gridBeginNs) / grid.slot_ns), grid.columns);
    if (first >= last) return;
    const left = timeToX(view, gridBeginNs + first * grid.slot_ns, width);
    const right = timeToX(view, gridBeginNs + last * grid.slot_ns, width);
    grid.rows.forEach((row, index) => {
      const top = rankToY(view, row.first_rank, height);
      const end = rankToY(view, row.first_rank + row.ranks, height);
      if (end < 0 || top > height) return;
      const gap = end - top >= kGapFrom ? 1 : 0;
      this.heat.drawRow(canvas, index, first, last, left, top, right - left, end - top - gap);
    });
  }

  private paintDensities({ grid }: Scene, theme: Theme): void {
    const background = rgbOf(theme.surface);
    this.heat.paintColours(grid!.columns, grid!.rows.length, (row, column) => {
      const share = shareOf(grid!, row, column);
      if (share <= 0) return null;
      return densityColour(background, rgbOf(classColour(classIn(grid!, grid!.rows[row]!, column))), share);
    });
  }
}
