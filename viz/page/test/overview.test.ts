import assert from "node:assert/strict";
import { test } from "node:test";

import type { Overview, Ranks, Series } from "../src/answers.ts";
import { busyLine, mpiLine } from "../src/overview/series.ts";
import { waitsShown } from "../src/overview/waits.ts";

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

const coverage = { world: 0, share: 0.5, waiting_ns: 6e9, blocking: { calls: 10, time_ns: 12e9 }, analysed: { calls: 9, time_ns: 9e9 } };
const waiting = (change: object): Overview => ({
  scope, run: { detail: "trace" }, waits: [], waits_share: 0.61, worlds_in_all: 1, wait_coverage: [coverage], wait_fault: null,
  wait_causes: [{ world: 0, rank: 2, time_ns: 5e9, ranks: 3, longest: [0, 1, 3] },
                { world: 0, rank: 1, time_ns: 1e9, ranks: 1, longest: [3] }],
  wait_states: [], wait_states_in_all: 0, ...change }) as unknown as Overview;

test("waits of a trace name their root causes and how much is analysed", () => {
  const shown = waitsShown(waiting({}));
  assert.equal(shown.isEstimate, false);
  assert.equal(shown.basis, "From the trace: 6.00 s of 12.0 s in blocking calls; 75.0 % of this time is analysed.");
  assert.deepEqual(shown.causes, ["Rank 2 is the root cause of 5.00 s of waiting in 3 ranks.",
                                  "Rank 1 is the root cause of 1.00 s of waiting in rank 3."]);
});

test("waits without known wait states are an estimate, with the share that it is about", () => {
  const estimate = "An estimate: the whole time of calls that received from a rank, 61.0 % of the time in MPI.";
  const basis = (change: object): string => waitsShown(waiting({ wait_coverage: [], ...change })).basis;
  assert.equal(basis({ run: { detail: "profile" } }), `${estimate} With --detail trace, the causes are known.`);
  assert.equal(basis({}), `${estimate} The trace is being analysed.`);
  assert.equal(basis({ scope: { ...scope, has_ended: false } }),
               `${estimate} The trace is analysed when the run has ended; xylem report does it at once.`);
  assert.equal(basis({ wait_fault: "x" }), `${estimate} The trace cannot be read: x.`);
  const nothing = { ...coverage, analysed: { calls: 0, time_ns: 0 } };
  assert.equal(waitsShown(waiting({ wait_coverage: [nothing] })).isEstimate, true);
  assert.equal(basis({ wait_coverage: [nothing] }), estimate, "an analysis that found nothing is not under way");
});

test("worlds without known wait states keep their estimate beside worlds with wait states", () => {
  const nothing = { ...coverage, analysed: { calls: 0, time_ns: 0 } };
  const idle = { ...nothing, world: 2, blocking: { calls: 0, time_ns: 0 } };
  assert.deepEqual(waitsShown(waiting({})).others, []);
  assert.deepEqual(waitsShown(waiting({ wait_coverage: [coverage, { ...nothing, world: 1 }, idle] })).others, [1]);
});
