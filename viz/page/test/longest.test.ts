import assert from "node:assert/strict";
import { test } from "node:test";

import type { Call, LongCall, Timeline } from "../src/answers.ts";
import { kLongest, Longest, longestIn } from "../src/timeline/longest.ts";
import type { Listed } from "../src/timeline/panel.ts";
import type { Scene } from "../src/timeline/scene.ts";

const view = { beginNs: 0, endNs: 1000, firstRank: 0, endRank: 8 };

function call(rank: number, begin_ns: number, length: number): Call {
  return { rank, thread: 0, begin_ns, end_ns: begin_ns + length, function: "MPI_Send", class: "point_to_point",
           peer: null, tag: null, comm: null, bytes: 0, calls: 1, estimated: false };
}

function ofCalls(calls: readonly Call[]): Timeline {
  return { detail: "calls", calls, longest: [] } as unknown as Timeline;
}

function ofWindows(longest: readonly LongCall[]): Timeline {
  return { detail: "windows", calls: [], longest } as unknown as Timeline;
}

const inWindow = (rank: number, duration_ns: number): LongCall =>
  ({ rank, function: "MPI_Recv", duration_ns, begin_ns: 0, end_ns: 500 });

test("only calls of the rank that is chosen are listed, also where its row is not seen", () => {
  const answer = ofCalls([call(1, 0, 900), call(3, 0, 10), call(3, 20, 30), call(9, 0, 800)]);
  assert.deepEqual(longestIn(answer, view, 3).calls.map((one) => [one.rank, one.durationNs]), [[3, 30], [3, 10]]);
  assert.deepEqual(longestIn(answer, view, 9).calls.map((one) => one.rank), [9]);
  assert.deepEqual(longestIn(answer, view, null).calls.map((one) => one.rank), [1, 3, 3]);
});

test("windows' calls are those of the ranks that are seen", () => {
  const answer = ofWindows(Array.from({ length: kLongest }, (_, rank) => inWindow(2 * rank, 100 - rank)));
  assert.deepEqual(longestIn(answer, view, null).calls.map((one) => one.rank), [0, 2, 4, 6]);
  assert.equal(longestIn(answer, view, null).isAll, false);
  assert.deepEqual(longestIn(answer, view, 4).calls.map((one) => one.durationNs), [98]);
  assert.equal(longestIn(ofWindows([inWindow(0, 1)]), view, 4).isAll, true);
});

test("an answer with single calls has all of them, so none of the longest is missing", () => {
  assert.equal(longestIn(ofCalls([call(1, 0, 5)]), view, 1).isAll, true);
  assert.deepEqual(longestIn(ofCalls([call(1, 0, 5)]), view, 2), { calls: [], isAll: true });
});

test("what the scene has not is asked for once, of just these ranks and this time", () => {
  const asked: unknown[] = [];
  let shown: readonly Listed[] = [];
  let answer: (found: Timeline) => void = () => {};
  const longest = new Longest({
    ask: (parameters, show) => {
      asked.push(parameters);
      answer = show;
    },
    show: (calls) => shown = calls,
  });
  const full = ofWindows(Array.from({ length: kLongest }, (_, rank) => inWindow(rank, 100 - rank)));
  const scene = { answer: full } as unknown as Scene;
  longest.tell(scene, view, 3, true);
  assert.equal(asked.length, 0);
  longest.tell(scene, view, 3, false);
  longest.tell(scene, view, 3, false);
  assert.deepEqual(asked, [{ first_rank: 3, end_rank: 4, begin_ns: 0, end_ns: 1000, columns: 1, rows: 1, most: 1 }]);
  answer(ofWindows([inWindow(3, 97), inWindow(3, 50)]));
  assert.deepEqual(shown.map((one) => one.durationNs), [97, 50]);
  longest.forget();
  longest.tell(scene, view, 3, false);
  assert.equal(asked.length, 2);
  // The page asks again after a failure, and so does this list.
  longest.retry();
  longest.tell(scene, view, 3, false);
  assert.equal(asked.length, 3);
  answer(ofWindows([inWindow(3, 97)]));
  longest.retry();
  longest.tell(scene, view, 3, false);
  assert.equal(asked.length, 3);
});
