// Values computed from a grid of ranks x time: shares, order of rows, imbalance. No drawing.

import type { Grid, Scope } from "./answers.ts";

export type Row = Grid["rows"][number];

/** Length of a slot in ns. The last slot may be shorter: it ends at the end of the range. */
export function slotLength(grid: Grid, scope: Scope, column: number): number {
  const begin = scope.begin_ns + column * grid.slot_ns;
  return Math.max(0, Math.min(grid.slot_ns, scope.end_ns - begin));
}

/** The share of their time that a row's ranks spent; null if the grid is not of times, or the slot is empty. */
export function timeShare(grid: Grid, scope: Scope, row: Row, column: number): number | null {
  const length = slotLength(grid, scope, column);
  if (grid.unit !== "ns" || length <= 0) return null;
  return (row.cells[column] ?? 0) / (length * row.ranks);
}

/** The largest cell per rank. The strongest colour stands for it if the grid has no shares. */
export function maxOf(grid: Grid): number {
  let most = 0;
  for (const row of grid.rows) for (const cell of row.cells) most = Math.max(most, cell / row.ranks);
  return most;
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
  let most = 0, sum = 0, ranks = 0;
  for (const row of grid.rows) {
    const cell = row.cells[column] ?? 0;
    most = Math.max(most, cell / row.ranks);
    sum += cell;
    ranks += row.ranks;
  }
  return sum > 0 ? most / (sum / ranks) - 1 : null;
}
