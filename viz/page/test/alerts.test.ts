import assert from "node:assert/strict";
import { test } from "node:test";

import { amountOf, lengthOf, placeOf, worstOf } from "../src/alerts.ts";
import type { Alert, Scope } from "../src/answers.ts";

const scope: Scope = { begin_ns: 0, end_ns: 100e9, run_begin_ns: 0, run_end_ns: 100e9, has_ended: false,
                       estimated: false, lost_calls: 0, incomplete_ranks: 0 };
const alert: Alert = { at_ns: 40e9, until_ns: 60e9, kind: "stalled", world: 1, rank: 3, text: "", value: 1, threshold: 1,
                       subject: "world", leaf: null, at_least: false };

test("an alert leads to its rank and time, with some before and after", () => {
  assert.deepEqual(placeOf(alert, scope), { view: "timeline", world: 1, rank: 3, begin: 35e9, end: 65e9 });
});

test("one that still is so reaches the end of the run, one of a moment is a second long", () => {
  assert.equal(lengthOf({ ...alert, until_ns: null }, scope), 60e9);
  assert.equal(placeOf({ ...alert, until_ns: null }, scope).end, 100e9);
  const short = placeOf({ ...alert, until_ns: 40e9 }, scope);
  assert.deepEqual([short.begin, short.end], [39.75e9, 41.25e9]);
  const early = placeOf({ ...alert, at_ns: 0, until_ns: 0 }, { ...scope, run_end_ns: 0 });
  assert.ok(early.begin! < early.end!);
});

test("values have the unit of their kind", () => {
  assert.equal(amountOf("stalled", 12.5), "12.5 s");
  assert.equal(amountOf("late", 0.25), "25.0 %");
  assert.equal(amountOf("oversubscribed", 1.5), "1.5 per core");
  assert.equal(amountOf("loss", 1), "1 call");
});

test("a loss of which nobody knows how many calls it was has no number", () => {
  assert.equal(worstOf({ ...alert, kind: "loss", value: 0 }), "not known");
  assert.equal(worstOf({ ...alert, kind: "loss", value: 2 }), "2 calls");
  assert.equal(worstOf({ ...alert, value: 0 }), amountOf("stalled", 0));
});
