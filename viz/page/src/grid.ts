// Values computed from a grid of ranks x time: shares, order of rows, imbalance. No drawing.

import type { Grid, Scope } from "./answers.ts";

export type Row = Grid["rows"][number];

/** Length of a slot in ns. The last slot may be shorter: it ends at the end of the range. */
export function slotLength(grid: Grid, scope: Scope, column: number): number {
  const begin = scope.begin_ns + column * grid.slot_ns;
  return Math.max(0, Math.min(grid.slot_ns, scope.end_ns - begin));
}

/** For each row the time in which its ranks were watched, slot by slot. */
const kWatched = new WeakMap<Row, readonly number[]>();

/** The time in which a row's ranks were watched in a slot, over their threads. 0 if the grid is not of times. */
export function watchedIn(row: Row, column: number): number {
  let watched = kWatched.get(row);
  if (watched === undefined) {
    watched = (row.watched ?? []).flatMap(([n, ns]) => new Array<number>(n).fill(ns));
    kWatched.set(row, watched);
  }
  return watched[column] ?? 0;
}

/** For each row the index of the class with the most time, slot by slot. */
const kDominant = new WeakMap<Row, readonly number[]>();

/** The class of functions with the most time in a slot of a grid of densities. */
export function classIn(grid: Grid, row: Row, column: number): string {
  let dominant = kDominant.get(row);
  if (dominant === undefined) {
    dominant = (row.dominant ?? []).flatMap(([n, index]) => new Array<number>(n).fill(index));
    kDominant.set(row, dominant);
  }
  return grid.classes?.[dominant[column] ?? 0] ?? "";
}

/** 0 if nothing was watched, as in the report. */
function share(part: number, whole: number): number {
  return part <= 0 || whole <= 0 ? 0 : Math.min(part / whole, 1);
}

/** The share of the watched time that a row's ranks spent in a slot, 0 to 1; null if the grid is not of times. */
export function timeShare(row: Row, column: number): number | null {
  if (row.watched === undefined) return null;
  return share(row.cells[column] ?? 0, watchedIn(row, column));
}

/** The same for all slots together. */
export function shareOfRow(row: Row): number | null {
  return row.watched_ns === undefined ? null : share(row.total, row.watched_ns);
}

/** The largest cell per rank. The strongest colour stands for it if the grid has no shares. */
export function maxOf(grid: Grid): number {
  let max = 0;
  for (const row of grid.rows) for (const cell of row.cells) max = Math.max(max, cell / row.ranks);
  return max;
}

export type Order = "rank" | "host" | "value";

/** Sorts rows. In the order of hosts, rows of one host stay in the order of ranks. */
export function ordered(rows: readonly Row[], order: Order): Row[] {
  const sorted = [...rows];
  if (order === "host") sorted.sort((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }) || a.first_rank - b.first_rank);
  if (order === "value") sorted.sort((a, b) => b.total / b.ranks - a.total / a.ranks || a.first_rank - b.first_rank);
  return sorted;
}

/**
 * Imbalance of a slot: the highest row divided by the mean, minus 1; 0 is even. For rows with several ranks, the
 * means of the rows are compared, which gives a lower value. null: the slot is empty.
 */
export function imbalance(grid: Grid, column: number): number | null {
  let max = 0, sum = 0, ranks = 0;
  for (const row of grid.rows) {
    const cell = row.cells[column] ?? 0;
    max = Math.max(max, cell / row.ranks);
    sum += cell;
    ranks += row.ranks;
  }
  return sum > 0 ? max / (sum / ranks) - 1 : null;
}
