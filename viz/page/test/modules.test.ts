import assert from "node:assert/strict";
import { test } from "node:test";

import { address } from "../src/api.ts";
import { colourOf, scaleOf } from "../src/colours.ts";
import { exact } from "../src/csv.ts";
import { classesOf, quantile } from "../src/histogram.ts";
import { pauseAfter, retryAfter } from "../src/pace.ts";
import { kQuestions, olderOf } from "../src/questions.ts";
import { compare } from "../src/table.ts";
import { meanOf } from "../src/views/functions.ts";

test("addresses leave out what is not given, and encode what is", () => {
  assert.equal(address("ranks", { world: 0, first_rank: undefined, end_rank: null }), "/api/v1/ranks?world=0");
  assert.equal(address("query", { sql: "SELECT 1 & 2" }), "/api/v1/query?sql=SELECT+1+%26+2");
  assert.equal(address("functions", { distribution: true }), "/api/v1/functions?distribution=1");
});

test("a quick server is asked twice a second at most, a slow one is busy a sixth of the time", () => {
  assert.equal(pauseAfter(3), 500);
  assert.equal(pauseAfter(1000), 5000);
  assert.ok(pauseAfter(1e9) <= 30_000);
  for (const tookMs of [100, 1000, 6000]) {
    const share = tookMs / (tookMs + pauseAfter(tookMs));  // A pause begins when a round ends.
    assert.ok(share <= 1 / 6 + 1e-9, `${tookMs} ms: ${share}`);
  }
});

test("a server that is gone is tried less and less often, but always again", () => {
  const pauses = [0, 1, 2, 3, 4, 5, 1000].map(retryAfter);
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
});

test("classes of a histogram without calls are shown, too", () => {
  const classes = classesOf([{ below_ns: 1024, calls: 3 }, { below_ns: 4096, calls: 1 }]);
  assert.deepEqual(classes.map((one) => one.share), [0.75, 0, 0.25]);
  assert.match(classes[0]!.what, /512 ns to 1.02 µs: 3 calls, 75.0 %/);
  assert.deepEqual(classesOf([]), []);
});

test("a quantile is the bound of the class in which it is reached", () => {
  const buckets = [{ below_ns: 4096, calls: 1 }, { below_ns: 1024, calls: 99 }];
  assert.equal(quantile(buckets, 0.5), 1024);
  assert.equal(quantile(buckets, 0.99), 1024);
  assert.equal(quantile(buckets, 1), 4096);
  assert.equal(quantile([], 0.5), 0);
});

test("much stands out from the surface in either theme", () => {
  const light = (colour: string): number =>
    colour.match(/\d+/g)!.reduce((sum, part) => sum + Number(part), 0);
  for (const isDark of [false, true]) {
    const scale = scaleOf(isDark);
    const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => light(colourOf(scale, share)));
    assert.ok(isDark ? steps[0]! < steps[4]! : steps[0]! > steps[4]!, `${steps}`);
  }
  assert.equal(colourOf(scaleOf(true), 2), colourOf(scaleOf(true), 1));
});

test("what is not there is sorted behind all that is", () => {
  assert.deepEqual([3, null, 1].sort(compare), [1, 3, null]);
  assert.deepEqual(["b", null, "a"].sort(compare), ["a", "b", null]);
  assert.deepEqual([3, null, 1, 5].sort((a, b) => compare(a, b, -1)), [5, 3, 1, null], "what is unknown stays last");
  assert.equal(compare(2n ** 60n, 5), 1);
});

test("whole numbers that come as text, for a number would round them, sort as numbers", () => {
  assert.equal(exact("9007199254740993"), 9007199254740993n);
  assert.equal(exact("-9223372036854775808"), -(2n ** 63n));
  assert.equal(exact("MPI_Send"), "MPI_Send");
  assert.equal(exact("123"), "123");  // Text of a column of text.
  assert.equal(exact(2.5), 2.5);
});

test("a mean with time of calls that have not returned is not shown", () => {
  const row = { calls: 2, time_ns: 200, max_ns: 150, estimated: false };
  assert.equal(meanOf(row), 100);
  assert.equal(meanOf({ ...row, calls: 0, max_ns: 0 }), null, "no call has returned");
  assert.equal(meanOf({ ...row, time_ns: 4000 }), null, "no mean is longer than the longest call");
  assert.equal(meanOf({ ...row, time_ns: 4000, estimated: true }), 2000);
  assert.equal(meanOf({ ...row, time_ns: 301 }), 150.5, "the longest call is in whole ns");
});

test("the question of shares has a text for files that do not say when a rank was watched", () => {
  const [, sql] = kQuestions.find(([title]) => title === "Time in MPI of each rank")!;
  assert.match(sql, /since_ns/);
  const older = olderOf(sql, "no such column: r.threads")!;
  assert.doesNotMatch(older, /since_ns|until_ns|threads/);
  assert.equal(olderOf(older, "no such column: r.first_ns"), null, "it is not asked over and over");
  assert.equal(olderOf(sql, "the query took too long"), null);
  assert.equal(olderOf("SELECT threads FROM rank", "no such column: threads"), null, "a user's query stays");
});
