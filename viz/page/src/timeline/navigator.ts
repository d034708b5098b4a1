// A strip of the whole run above the timeline: the share of time in MPI, and a frame around the visible part. A click
// or a drag moves the visible part there.

import type { Ranks } from "../answers.ts";
import { colourOf, scaleOf, type Theme } from "../colours.ts";
import { watchedIn } from "../grid.ts";
import { Surface } from "../surface.ts";
import { timeToX, xToTime, type Viewport } from "./viewport.ts";

const kLeast = 3;

export class Navigator {
  readonly surface: Surface;
  private run: Ranks | null = null;
  private view: Viewport | null = null;
  private theme: Theme | null = null;

  /** `moveTo` gets the new time of the middle of the visible part. */
  constructor(moveTo: (ns: number) => void) {
    this.surface = new Surface("The whole run: share of time in MPI", () => this.draw());
    const { element } = this.surface;
    const move = (event: PointerEvent): void => {
      if (this.run === null || (event.buttons & 1) === 0) return;
      moveTo(xToTime(this.whole(this.run), this.surface.at(event).x, this.surface.width));
    };
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      move(event);
    });
    element.addEventListener("pointermove", move);
  }

  show(run: Ranks, view: Viewport, theme: Theme): void {
    this.run = run;
    this.view = view;
    this.theme = theme;
    this.surface.fit();
    this.draw();
  }

  end(): void {
    this.surface.end();
  }

  private whole(run: Ranks): Viewport {
    const { run_begin_ns, run_end_ns } = run.scope;
    return { beginNs: run_begin_ns, endNs: Math.max(run_end_ns, run_begin_ns + 1), firstRank: 0, endRank: 1 };
  }

  private draw(): void {
    if (this.run === null || this.view === null || this.theme === null) return;
    const { context, width, height } = this.surface;
    const { slot_ns, columns, scope } = this.run;
    const whole = this.whole(this.run);
    context.fillStyle = this.theme.surface;
    context.fillRect(0, 0, width, height);
    const scale = scaleOf(this.theme.isDark);
    for (let column = 0; column < columns; ++column) {
      const inMpi = this.run.rows.reduce((sum, row) => sum + (row.cells[column] ?? 0), 0);
      const begin = scope.begin_ns + column * slot_ns;
      const watched = this.run.rows.reduce((sum, row) => sum + watchedIn(row, column), 0);
      const share = Math.min(inMpi / Math.max(watched, 1), 1);
      if (share === 0) continue;
      const left = timeToX(whole, begin, width);
      const right = timeToX(whole, Math.min(begin + slot_ns, whole.endNs), width);
      const top = (1 - share) * (height - 2);
      context.fillStyle = colourOf(scale, share);
      context.fillRect(left, top + 1, right - left + 0.5, height - top - 1);
    }
    const left = timeToX(whole, this.view.beginNs, width);
    const right = Math.max(timeToX(whole, this.view.endNs, width), left + kLeast);
    context.fillStyle = this.theme.surface;
    context.globalAlpha = 0.65;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = this.theme.accent;
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1, Math.max(right - left - 2, 1), height - 2);
  }
}
