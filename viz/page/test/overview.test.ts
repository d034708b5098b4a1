import assert from "node:assert/strict";
import { test } from "node:test";

import type { Ranks, Series } from "../src/answers.ts";
import { busyLine, mpiLine } from "../src/overview/series.ts";

const scope = { begin_ns: 0, end_ns: 3e9, run_begin_ns: 0, run_end_ns: 3e9, has_ended: true, estimated: false, lost_calls: 0,
                incomplete_ranks: 0 };

function grid(...rows: { cells: number[]; watched: [number, number][] }[]): Ranks {
  return { version: 1, view: "ranks", scope, value: "mpi", unit: "ns", world_size: rows.length, slot_ns: 1e9, columns: 3,
           rows: rows.map(({ cells, watched }, rank) => ({ first_rank: rank, ranks: 1, host: "", total: 0, cells, watched })) };
}

test("the share of MPI of a slot is of the watched time of all ranks, between the lowest and the highest", () => {
  const { points } = mpiLine(grid({ cells: [1e8, 0, 0], watched: [[2, 1e9], [1, 0]] },
                                  { cells: [9e8, 5e8, 0], watched: [[1, 1e9], [1, 5e8], [1, 0]] }));
  assert.deepEqual(points.map(({ slot, min, max }) => [slot, min, max]), [[0, 10, 90], [1, 0, 100]]);
  assert.ok(Math.abs(points[0]!.mean - 50) < 1e-9);
  assert.ok(Math.abs(points[1]!.mean - 100 / 3) < 1e-9, "the last half second of rank 1 was not watched");
});

function series(...lines: [leaf: number, ...means: number[]][]): Series {
  return { version: 1, view: "series", scope, name: "", slot_ns: 1e9,
           lines: lines.map(([leaf, ...means]) => ({
             leaf, host: "", points: means.map((mean, slot) => ({ slot, min: mean, mean, max: mean, samples: 1 })) })) };
}

test("busy processors of a host are the sum of the series, and a slot has the mean of the hosts", () => {
  const { points } = busyLine([series([1, 100, 150], [2, 300]), series([1, 50, 50], [2, 50])]);
  assert.deepEqual(points, [{ slot: 0, min: 1.5, max: 3.5, mean: 2.5, samples: 2 }, { slot: 1, min: 2, max: 2, mean: 2, samples: 1 }]);
  assert.deepEqual(busyLine([series([1, 100]), series()]).points, [], "a host without one of the series is left out");
});
