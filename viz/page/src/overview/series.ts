// Lines of charts of the overview, computed from answers: the share of MPI over time, and the busy processors of hosts.

import type { Ranks, Series } from "../answers.ts";
import { timeShare, watchedIn } from "../grid.ts";
import type { Line } from "../hosts/columns.ts";

/**
 * The share of the watched time in MPI in each slot, in %: of all ranks, of the lowest and of the highest row. Slots in
 * which no rank was watched have no point.
 */
export function mpiLine(grid: Ranks): Line {
  const line: Line = { leaf: 0, host: "", points: [] };
  for (let slot = 0; slot < grid.columns; ++slot) {
    let time = 0, watched = 0, min = 1, max = 0, rows = 0;
    for (const row of grid.rows) {
      const whole = watchedIn(row, slot);
      if (whole <= 0) continue;
      const share = timeShare(row, slot) ?? 0;
      time += row.cells[slot] ?? 0;
      watched += whole;
      min = Math.min(min, share);
      max = Math.max(max, share);
      ++rows;
    }
    if (rows === 0) continue;
    const mean = Math.min(1, time / watched);
    line.points.push({ slot, min: 100 * min, mean: 100 * mean, max: 100 * max, samples: rows });
  }
  return line;
}

/**
 * The number of busy processors of a host in each slot: the sum of several series in % of one processor. The mean is
 * over the hosts; minimum and maximum are of single hosts. Slots in which a host lacks one of the series do not count
 * this host.
 */
export function busyLine(parts: readonly Series[]): Line {
  const hosts = new Map<number, Map<number, { sum: number; parts: number }>>();  // By slot, then by host.
  for (const part of parts) {
    for (const { leaf, points } of part.lines) {
      for (const { slot, mean } of points) {
        const ofSlot = hosts.get(slot) ?? new Map<number, { sum: number; parts: number }>();
        hosts.set(slot, ofSlot);
        const of = ofSlot.get(leaf) ?? { sum: 0, parts: 0 };
        ofSlot.set(leaf, { sum: of.sum + mean / 100, parts: of.parts + 1 });
      }
    }
  }
  const line: Line = { leaf: 0, host: "", points: [] };
  for (const slot of [...hosts.keys()].sort((a, b) => a - b)) {
    const busy = [...hosts.get(slot)!.values()].filter((of) => of.parts === parts.length).map((of) => of.sum);
    if (busy.length === 0) continue;
    line.points.push({
      slot, min: Math.min(...busy), max: Math.max(...busy), samples: busy.length,
      mean: busy.reduce((sum, value) => sum + value, 0) / busy.length,
    });
  }
  return line;
}
