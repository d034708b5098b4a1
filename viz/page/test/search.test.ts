import assert from "node:assert/strict";
import { test } from "node:test";

import type { Call, Search } from "../src/answers.ts";
import type { Parameters } from "../src/api.ts";
import { Finder, questionOfText } from "../src/timeline/search.ts";

test("a search is a function, and values of calls", () => {
  assert.deepEqual(questionOfText(" MPI_Send peer=3 tag=-7 Comm=0 "), { function: "MPI_Send", peer: 3, tag: -7, comm: 0 });
  assert.deepEqual(questionOfText("rank=2"), { first_rank: 2, end_rank: 3 });
  for (const wrong of ["", "peer=x", "MPI_Send MPI_Recv", "peer:3", "tag="]) assert.equal(typeof questionOfText(wrong), "string", wrong);
});

/** A run of `begins` whose server finds at most three calls at a time, and reads 100 ns at most. */
class Run {
  readonly shown: number[] = [];
  readonly asked: Parameters[] = [];
  said = "";
  beginNs = 0;
  readonly finder: Finder;

  constructor(begins: readonly number[], endNs = 1000) {
    this.finder = new Finder({
      ask: (parameters, show) => {
        this.asked.push(parameters);
        const isBack = parameters.backwards === true;
        let [from, to] = [Number(parameters.begin_ns), Number(parameters.end_ns)];
        const whole = to - from;
        if (isBack) from = Math.max(from, to - 100);
        else to = Math.min(to, from + 100);
        let found = begins.filter((ns) => ns >= from && ns < to);
        if (found.length > 3 && isBack) [from, found] = [found.at(-3)!, found.slice(-3)];
        else if (found.length > 3) [to, found] = [found[2]! + 1, found.slice(0, 3)];
        show({ searched_begin_ns: from, searched_end_ns: to, is_cut: to - from < whole,
               calls: found.map((begin_ns) => ({ begin_ns }) as Call) } as Search);
      },
      show: (call) => this.shown.push(call.begin_ns),
      say: (message) => this.said = message,
      beginNs: () => this.beginNs,
      bounds: () => ({ beginNs: 0, endNs }),
    });
  }
}

const kBegins = [5, 10, 11, 12, 13, 14, 300, 301, 900];

test("next goes from the visible time to the end of the run, over all calls", () => {
  const run = new Run(kBegins);
  for (let step = 0; step < kBegins.length; ++step) run.finder.step("MPI_Send", false);
  assert.deepEqual(run.shown, kBegins);
  assert.equal(run.said, "9 of 9…", "the rest of the run was not searched yet");
  run.finder.step("MPI_Send", false);
  assert.equal(run.said, "no later call");
  assert.deepEqual(run.shown, kBegins);
});

test("previous goes back over the same calls, and further to the begin of the run", () => {
  const run = new Run(kBegins);
  run.beginNs = 13;
  run.finder.step("x", false);
  run.finder.step("x", false);
  for (let step = 0; step < 6; ++step) run.finder.step("x", true);
  assert.deepEqual(run.shown, [13, 14, 13, 12, 11, 10, 5]);
  assert.equal(run.said, "no earlier call");
  run.finder.step("x", false);
  assert.equal(run.shown.at(-1), 10);
});

test("a search may begin backwards", () => {
  const run = new Run(kBegins);
  run.beginNs = 13;
  run.finder.step("x", true);
  run.finder.step("x", true);
  run.finder.step("x", false);
  run.finder.step("x", false);
  assert.deepEqual(run.shown, [12, 11, 12, 13]);
});

test("a search without a call says so, and one that is not understood sends nothing", () => {
  const run = new Run([]);
  run.finder.step("x", false);
  assert.equal(run.said, "no such call from here on");
  const { length } = run.asked;
  run.finder.step("peer=x", false);
  assert.match(run.said, /not understood/);
  assert.equal(run.asked.length, length);
});

test("another text begins another search", () => {
  const run = new Run(kBegins);
  run.finder.step("x", false);
  run.beginNs = 299;
  run.finder.step("y tag=2", false);
  assert.deepEqual(run.shown, [5, 300]);
  assert.equal(run.asked.at(-1)!.tag, 2);
});
