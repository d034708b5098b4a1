import assert from "node:assert/strict";
import { test } from "node:test";

import * as format from "../src/format.ts";

test("durations have three digits and the unit that suits them", () => {
  assert.equal(format.duration(0), "0 ns");
  assert.equal(format.duration(17), "17 ns");
  assert.equal(format.duration(1234), "1.23 µs");
  assert.equal(format.duration(45_600_000), "45.6 ms");
  assert.equal(format.duration(12_340_000_000), "12.3 s");
});

test("a number just below the next unit is told in that unit", () => {
  assert.equal(format.duration(999_999), "1.00 ms");
  assert.equal(format.bytes(1024 * 1024 - 1), "1.00 MiB");
});

test("long times are told in minutes and hours", () => {
  assert.equal(format.duration(312e9), "5 min 12 s");
  assert.equal(format.duration(3600e9), "1 h 00 min");
  assert.equal(format.duration(7512e9), "2 h 05 min");
});

test("counts are grouped, also those that a number cannot hold", () => {
  assert.equal(format.count(0), "0");
  assert.equal(format.count(999), "999");
  assert.equal(format.count(1_234_567), "1,234,567");
  assert.equal(format.count(12_345_678_901_234_567_890n), "12,345,678,901,234,567,890");
});

test("bytes are powers of two", () => {
  assert.equal(format.bytes(72), "72 B");
  assert.equal(format.bytes(1536), "1.50 KiB");
  assert.equal(format.bytes(3 * 2 ** 30), "3.00 GiB");
});

test("moments have as many digits as tell steps apart", () => {
  assert.equal(format.moment(1_234_567_890, 1e9), "1 s");
  assert.equal(format.moment(1_234_567_890, 1e6), "1.235 s");
  assert.equal(format.moment(1_234_567_890, 1), "1.234567890 s");
});

test("units of the API are told, one of a thing as one", () => {
  assert.equal(format.inUnit(2e9, "ns"), "2.00 s");
  assert.equal(format.inUnit(1, "calls"), "1 call");
  assert.equal(format.inUnit(12_000, "calls"), "12,000 calls");
});

test("rows of several ranks name the first and the last", () => {
  assert.equal(format.ranks(3, 1), "rank 3");
  assert.equal(format.ranks(4, 4), "ranks 4–7");
});
