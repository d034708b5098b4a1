import assert from "node:assert/strict";
import { test } from "node:test";

import type { Grid, Scope } from "../src/answers.ts";
import { csv, errorOffset } from "../src/csv.ts";
import { imbalance, maxOf, ordered, shareOfRow, slotLength, timeShare } from "../src/grid.ts";
import { moved, stepOf, ticks, zoomed } from "../src/range.ts";

const scope: Scope = { begin_ns: 1000, end_ns: 2500, run_begin_ns: 0, run_end_ns: 2500, has_ended: false,
                       estimated: false, lost_calls: 0, incomplete_ranks: 0 };
const grid: Grid = {
  value: "mpi", unit: "ns", world_size: 4, slot_ns: 1000, columns: 2,
  rows: [
    { first_rank: 0, ranks: 1, host: "node10", total: 100, cells: [100, 0], watched_ns: 200, watched: [[1, 200], [1, 0]] },
    { first_rank: 1, ranks: 1, host: "node9", total: 700, cells: [300, 400], watched_ns: 1500, watched: [[1, 1000], [1, 500]] },
    { first_rank: 2, ranks: 2, host: "", total: 800, cells: [800, 0], watched_ns: 4000, watched: [[2, 2000]] },
  ],
};

test("the last slot ends with what was asked for", () => {
  assert.equal(slotLength(grid, scope, 0), 1000);
  assert.equal(slotLength(grid, scope, 1), 500);
  assert.equal(slotLength(grid, scope, 2), 0);
});

test("a share is of the time in which a row's ranks were watched in the slot", () => {
  assert.equal(timeShare(grid.rows[0]!, 0), 0.5);
  assert.equal(timeShare(grid.rows[0]!, 1), 0);
  assert.equal(timeShare(grid.rows[1]!, 0), 0.3);
  assert.equal(timeShare(grid.rows[1]!, 1), 0.8);
  assert.equal(timeShare(grid.rows[2]!, 0), 0.4);
  assert.equal(shareOfRow(grid.rows[2]!), 0.2);
  const { watched: _w, watched_ns: _n, ...ofBytes } = grid.rows[0]!;
  assert.equal(timeShare(ofBytes, 0), null);
  assert.equal(shareOfRow(ofBytes), null);
});

test("a share is never above 1", () => {
  assert.equal(timeShare({ ...grid.rows[0]!, watched: [[2, 50]] }, 0), 1);
});

test("time in a slot in which no rank was watched is no share", () => {
  assert.equal(timeShare({ ...grid.rows[0]!, watched: [] }, 0), 0);
  assert.equal(timeShare({ ...grid.rows[0]!, watched: [[2, 0]] }, 0), 0);
  assert.equal(shareOfRow({ ...grid.rows[0]!, watched_ns: 0 }), 0);
});

test("the most is that of a rank, not of a row with many", () => {
  assert.equal(maxOf(grid), 400);
});

test("rows are sorted by rank, by host as people number them, or by what a rank has", () => {
  const first = (order: "rank" | "host" | "value") => ordered(grid.rows, order).map((row) => row.first_rank);
  assert.deepEqual(first("rank"), [0, 1, 2]);
  assert.deepEqual(first("host"), [2, 1, 0]);
  assert.deepEqual(first("value"), [1, 2, 0]);
});

test("imbalance is the most over the mean, less one", () => {
  assert.equal(imbalance(grid, 0), 400 / (1200 / 4) - 1);
  assert.equal(imbalance(grid, 1), 3);
  assert.equal(imbalance({ ...grid, rows: [] }, 0), null);
});

test("zooming keeps what is under the pointer, and stays within the run", () => {
  const bounds = { begin: 0, end: 100 };
  assert.deepEqual(zoomed({ begin: 40, end: 60 }, 0.5, 45, bounds, 1), { begin: 42.5, end: 52.5 });
  assert.deepEqual(zoomed({ begin: 0, end: 20 }, 2, 0, bounds, 1), { begin: 0, end: 40 });
  assert.deepEqual(zoomed({ begin: 80, end: 100 }, 2, 80, bounds, 1), { begin: 60, end: 100 });
  assert.deepEqual(zoomed({ begin: 10, end: 90 }, 9, 50, bounds, 1), bounds);
  const least = zoomed({ begin: 40, end: 60 }, 1e-9, 50, bounds, 2);
  assert.equal(least.end - least.begin, 2);
});

test("moving stops at the ends of the run", () => {
  const bounds = { begin: 0, end: 100 };
  assert.deepEqual(moved({ begin: 40, end: 60 }, 0.5, bounds), { begin: 50, end: 70 });
  assert.deepEqual(moved({ begin: 10, end: 30 }, -1, bounds), { begin: 0, end: 20 });
  assert.deepEqual(moved({ begin: 70, end: 90 }, 1, bounds), { begin: 80, end: 100 });
});

test("ticks are at round numbers, no more of them than fit", () => {
  assert.equal(stepOf({ begin: 0, end: 100 }, 10), 10);
  assert.equal(stepOf({ begin: 0, end: 101 }, 10), 20);
  assert.deepEqual(ticks({ begin: 3, end: 21 }, 4), { step: 5, at: [5, 10, 15, 20] });
  assert.deepEqual(ticks({ begin: 7, end: 7 }, 4).at, []);
});

test("fields of CSV are quoted where they must be", () => {
  assert.equal(csv(["a", "b"], [[1, null], ["x,\"y\"", "1152921504606846976"], ["two\nlines", 0.5]]),
    'a,b\r\n1,\r\n"x,""y""",1152921504606846976\r\n"two\nlines",0.5\r\n');
});

test("an error's place is counted in characters, though it is told in bytes", () => {
  assert.equal(errorOffset("SQL: near \"FORM\": syntax error (at character 10)", "SELECT 1 FORM x"), 9);
  assert.equal(errorOffset("SQL: x (at character 14)", "SELECT 'µs', FORM"), 12);
  assert.equal(errorOffset("SQL: no such table: x", "SELECT"), null);
});
