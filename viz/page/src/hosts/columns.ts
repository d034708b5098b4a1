// A series as a chart wants it: columns of equal length, with gaps where nothing was measured.

import type { Series } from "../answers.ts";

export type Line = Series["lines"][number];

/** Seconds of the run, largest, smallest and mean value of each slot; null where it has no sample. */
export type Columns = [number[], (number | null)[], (number | null)[], (number | null)[]];

/** From the first to the last slot of a line; each stands at its middle. */
export function columnsOf(line: Line, beginNs: number, slotNs: number): Columns {
  const columns: Columns = [[], [], [], []];
  const { points } = line;
  if (points.length === 0) return columns;
  const apart = usualStep(points.map((point) => point.slot));
  let before = points[0]!.slot;
  const put = (slot: number, most: number | null, least: number | null, mean: number | null): void => {
    columns[0].push((beginNs + (slot + 0.5) * slotNs) / 1e9);
    columns[1].push(most);
    columns[2].push(least);
    columns[3].push(mean);
  };
  for (const point of points) {
    // Slots may be shorter than what lies between two samples: that is no gap.
    if (point.slot - before > 3 * apart) put((point.slot + before) / 2, null, null, null);
    put(point.slot, point.max, point.min, point.mean);
    before = point.slot;
  }
  return columns;
}

/** What lies between two samples most often: the median. */
function usualStep(slots: readonly number[]): number {
  const steps = slots.slice(1).map((slot, at) => slot - slots[at]!).sort((a, b) => a - b);
  return Math.max(steps[steps.length >> 1] ?? 1, 1);
}

/** What all lines of a series lie within, with 0 unless all are far from it: charts side by side compare. */
export function rangeOf(lines: readonly Line[]): [number, number] {
  let least = Infinity;
  let most = -Infinity;
  for (const { points } of lines) {
    for (const point of points) {
      least = Math.min(least, point.min);
      most = Math.max(most, point.max);
    }
  }
  if (least > most) return [0, 1];
  const isFar = least > 0 && most - least < 0.1 * most;
  const low = isFar ? least - 0.5 * (most - least) : Math.min(least, 0);
  return most > low ? [low, most + 0.05 * (most - low)] : [low, low + 1];
}
