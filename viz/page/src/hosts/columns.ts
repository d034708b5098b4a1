// Converts a series for a chart: columns of equal length, with gaps where there is no sample.

import type { Series } from "../answers.ts";

export type Line = Series["lines"][number];

/** Four columns: time in seconds of the run, then maximum, minimum and mean of each slot; null in a gap. */
export type Columns = [number[], (number | null)[], (number | null)[], (number | null)[]];

/** The slots of a line that have samples, each at the time of its middle. */
export function columnsOf(line: Line, beginNs: number, slotNs: number): Columns {
  const columns: Columns = [[], [], [], []];
  const { points } = line;
  if (points.length === 0) return columns;
  const apart = usualStep(points.map((point) => point.slot));
  let before = points[0]!.slot;
  const put = (slot: number, max: number | null, min: number | null, mean: number | null): void => {
    columns[0].push((beginNs + (slot + 0.5) * slotNs) / 1e9);
    columns[1].push(max);
    columns[2].push(min);
    columns[3].push(mean);
  };
  for (const point of points) {
    // Slots may be shorter than the usual distance of samples. An empty slot is then no gap.
    if (point.slot - before > 3 * apart) put((point.slot + before) / 2, null, null, null);
    put(point.slot, point.max, point.min, point.mean);
    before = point.slot;
  }
  return columns;
}

/** The median distance between samples, in slots. */
function usualStep(slots: readonly number[]): number {
  const steps = slots.slice(1).map((slot, at) => slot - slots[at]!).sort((a, b) => a - b);
  return Math.max(steps[steps.length >> 1] ?? 1, 1);
}

/** A range for all lines of a series, so that charts can be compared. It contains 0, unless all values are far from 0. */
export function rangeOf(lines: readonly Line[]): [number, number] {
  let min = Infinity;
  let max = -Infinity;
  for (const { points } of lines) {
    for (const point of points) {
      min = Math.min(min, point.min);
      max = Math.max(max, point.max);
    }
  }
  if (min > max) return [0, 1];
  const isFar = min > 0 && max - min < 0.1 * max;
  const low = isFar ? min - 0.5 * (max - min) : Math.min(min, 0);
  return max > low ? [low, max + 0.05 * (max - low)] : [low, low + 1];
}
