import assert from "node:assert/strict";
import { test } from "node:test";

import { changed, formatPlace, parsePlace, timeOf } from "../src/place.ts";

test("an address without a place is home, with nothing chosen", () => {
  assert.deepEqual(parsePlace("", "overview"),
    { view: "overview", world: 0, rank: null, begin: null, end: null, own: {} });
});

test("a place survives its address", () => {
  const place = { view: "ranks", world: 2, rank: 17, begin: 1_000_000, end: 2_500_000,
                  own: { value: "wait", sql: "SELECT '&=#?/' FROM run" } };
  assert.deepEqual(parsePlace(formatPlace(place), "overview"), place);
});

test("what is always so is not in the address", () => {
  assert.equal(formatPlace(parsePlace("#/ranks", "overview")), "#/ranks");
});

test("numbers that are none, and times that end before they begin, are as if they were not there", () => {
  const place = parsePlace("#/ranks?rank=-1&world=x&begin=9&end=3", "overview");
  assert.deepEqual(place, { view: "ranks", world: 0, rank: null, begin: null, end: null, own: {} });
});

test("a view's own settings go with it, what is chosen for all stays", () => {
  const place = parsePlace("#/ranks?rank=3&begin=1&end=2&value=wait", "overview");
  assert.equal(formatPlace(changed(place, { view: "timeline" })), "#/timeline?rank=3&begin=1&end=2");
  assert.equal(formatPlace(changed(place, { rank: 4 })), "#/ranks?rank=4&begin=1&end=2&value=wait");
});

test("another world has other ranks", () => {
  assert.equal(changed(parsePlace("#/ranks?rank=3", "overview"), { world: 1 }).rank, null);
});

test("a question about all of the time names none, so that it grows with the run", () => {
  assert.deepEqual(timeOf(parsePlace("#/ranks", "overview")), {});
  assert.deepEqual(timeOf(parsePlace("#/ranks?begin=1&end=2", "overview")), { begin_ns: 1, end_ns: 2 });
});
