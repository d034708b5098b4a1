import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf, rangeOf, type Line } from "../src/hosts/columns.ts";
import { kMaxChosen, matching, readChoices, unitOf, withUnit, writeChoices } from "../src/hosts/names.ts";

function line(...points: [slot: number, min: number, mean: number, max: number][]): Line {
  return { leaf: 0, host: "node0",
           points: points.map(([slot, min, mean, max]) => ({ slot, min, mean, max, samples: 1 })) };
}

test("each slot stands at its middle, with its mean within its extremes", () => {
  assert.deepEqual(columnsOf(line([0, 1, 2, 3], [1, 4, 5, 6]), 1e9, 1e9), [[1.5, 2.5], [3, 6], [1, 4], [2, 5]]);
  assert.deepEqual(columnsOf(line(), 0, 1e9), [[], [], [], []]);
});

test("slots shorter than the samples' interval are no gaps, a pause is one", () => {
  const every = columnsOf(line([0, 1, 1, 1], [4, 1, 1, 1], [8, 1, 1, 1], [12, 1, 1, 1]), 0, 1e9);
  assert.equal(every[3].indexOf(null), -1);
  const pause = columnsOf(line([0, 1, 1, 1], [1, 1, 1, 1], [2, 1, 1, 1], [50, 1, 1, 1]), 0, 1e9);
  assert.equal(pause[3].indexOf(null), 3);
  assert.deepEqual(pause[0], [...pause[0]].sort((a, b) => a - b));
});

test("charts of a series have one range, with 0 unless all is far from it", () => {
  assert.deepEqual(rangeOf([line([0, 10, 20, 30]), line([0, 50, 60, 100])]), [0, 105]);
  const [low, high] = rangeOf([line([0, 1000, 1001, 1002])]);
  assert.ok(low > 900 && low < 1000 && high > 1002);
  assert.deepEqual(rangeOf([]), [0, 1]);
  assert.deepEqual(rangeOf([line([0, 0, 0, 0])]), [0, 1]);
});

test("at first what says most about a host is shown, of what there is", () => {
  assert.deepEqual(readChoices(undefined, ["a", "load.1m", "cpu.user"], []).map((one) => one.name), ["cpu.user", "load.1m"]);
  assert.deepEqual(readChoices(undefined, ["x", "y"], []).map((one) => one.name), ["x", "y"]);
  assert.deepEqual(readChoices(undefined, [], []), []);
});

test("an address names series of hosts and of ranks, and what is not there is left out", () => {
  const choices = [{ name: "load.1m", isOfRanks: false }, { name: "threads", isOfRanks: true }];
  assert.equal(writeChoices(choices), "load.1m,rank:threads");
  assert.deepEqual(readChoices("load.1m,rank:threads,rank:load.1m,none", ["load.1m"], ["threads"]), choices);
  assert.deepEqual(readChoices("", ["load.1m"], []), []);
  const many = Array.from({ length: 20 }, (_, at) => `s${at}`);
  assert.equal(readChoices(many.join(","), many, []).length, kMaxChosen);
});

test("a search finds the names that have all of its words", () => {
  assert.deepEqual(matching(["cpu0.user", "cpu.idle", "memory.user"], "USER cpu"), ["cpu0.user"]);
  assert.deepEqual(matching(["a", "b"], "  "), ["a", "b"]);
});

test("every number has the unit that it was measured in", () => {
  assert.equal(unitOf("load.1m", new Map([["load.1m", ""]])), "");
  assert.equal(unitOf("memory", new Map()), "GiB");
  assert.equal(withUnit(2048, "KiB"), "2.00 MiB");
  assert.equal(withUnit(1e6, "B/s"), "977 KiB/s");
  assert.equal(withUnit(12.345, "%"), "12.3 %");
  assert.equal(withUnit(0.5, "share"), "50.0 %");
  assert.equal(withUnit(3, "1/s"), "3 /s");
  assert.equal(withUnit(120, "us"), "120 µs");
  assert.equal(withUnit(12.5, "W"), "12.50 W");
});
