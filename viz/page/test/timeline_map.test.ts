import assert from "node:assert/strict";
import { test } from "node:test";

import { TileStore, kMaxKept, type Slot } from "../src/timeline/tile_store.ts";
import { covers, keyOf, neighbours, questionOf, tightTile, wideTile, type Tile } from "../src/timeline/tiles.ts";
import {
  clamp, kShortestNs, pan, rankToY, showCall, timeToX, wholeOf, xToTime, yToRank, zoomRanks, zoomTime,
} from "../src/timeline/viewport.ts";

const bounds = { beginNs: 0, endNs: 1e9, ranks: 64 };
const view = { beginNs: 4e8, endNs: 6e8, firstRank: 16, endRank: 32 };

/** Random numbers, the same in each run. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

test("a zoom keeps what is below the pointer where it is", () => {
  for (const at of [0, 0.25, 1]) {
    const before = xToTime(view, at * 1000, 1000);
    const zoomed = zoomTime(view, bounds, 0.5, at);
    assert.ok(Math.abs(xToTime(zoomed, at * 1000, 1000) - before) < 1e-3);
    assert.equal(zoomed.endNs - zoomed.beginNs, 1e8);
    assert.deepEqual([zoomed.firstRank, zoomed.endRank], [16, 32]);
  }
  const rows = zoomRanks(view, bounds, 0.5, 0.5);
  assert.deepEqual([rows.firstRank, rows.endRank], [20, 28]);
});

test("a zoom ends at all of the run and at the shortest time", () => {
  assert.deepEqual(zoomRanks(zoomTime(view, bounds, 1e9, 0.5), bounds, 1e9, 0.5), wholeOf(bounds));
  const least = zoomTime(view, bounds, 1e-12, 0.5);
  assert.ok(Math.abs(least.endNs - least.beginNs - kShortestNs) < 1e-3);
});

test("a drag stops at the run's edges and keeps its size", () => {
  const right = pan(view, bounds, 100, 100);
  assert.deepEqual([right.endNs, right.endRank], [1e9, 64]);
  assert.equal(right.endNs - right.beginNs, 2e8);
  const left = pan(view, bounds, -100, -100);
  assert.deepEqual([left.beginNs, left.firstRank], [0, 0]);
});

test("whatever is done, what is shown lies within the run", () => {
  const next = random(5);
  let now = wholeOf(bounds);
  for (let step = 0; step < 5000; ++step) {
    const factor = 2 ** (4 * next() - 2.2);
    if (step % 3 === 0) now = zoomTime(now, bounds, factor, next());
    else if (step % 3 === 1) now = zoomRanks(now, bounds, factor, next());
    else now = pan(now, bounds, 4 * next() - 2, 4 * next() - 2);
    assert.ok(now.beginNs >= 0 && now.endNs <= 1e9 + 1e-3 && now.endNs - now.beginNs >= kShortestNs - 1e-3);
    assert.ok(now.firstRank >= 0 && now.endRank <= 64 + 1e-9 && now.endRank - now.firstRank >= 1 - 1e-9);
  }
});

test("a run without time or ranks is shown without dividing by nothing", () => {
  const none = wholeOf({ beginNs: 0, endNs: 0, ranks: 0 });
  assert.ok(none.endNs > none.beginNs && none.endRank > none.firstRank);
});

test("places on the screen and in the run are each other's inverse", () => {
  assert.equal(timeToX(view, 5e8, 1000), 500);
  assert.equal(xToTime(view, 250, 1000), 4.5e8);
  assert.equal(rankToY(view, 24, 100), 50);
  assert.equal(yToRank(view, 50, 100), 24);
});

test("a call that is jumped to is in the middle, with its rank", () => {
  const shown = showCall(view, bounds, 50, 7e8, 7e8 + 3000);
  assert.ok(shown.beginNs < 7e8 && shown.endNs > 7e8 + 3000 && shown.endNs - shown.beginNs < 10_000);
  assert.ok(shown.firstRank <= 50 && shown.endRank >= 51);
  assert.deepEqual([showCall(view, bounds, 20, 7e8, 8e8).firstRank], [16]);
});

test("any screen is covered by its tile, with room on both sides, and by the tight one", () => {
  const next = random(9);
  for (let trial = 0; trial < 2000; ++trial) {
    const length = kShortestNs + next() ** 6 * 9e8;
    const rows = 1 + next() * 40;
    const shown = clamp({ beginNs: next() * 1e9, endNs: 0, firstRank: next() * 60, endRank: 0 }, bounds);
    const screen = clamp({ ...shown, endNs: shown.beginNs + length, endRank: shown.firstRank + rows }, bounds);
    const wide = wideTile(screen, bounds);
    assert.ok(covers(wide, screen, bounds), JSON.stringify([screen, wide]));
    const room = (screen.endNs - screen.beginNs) / 5;
    assert.ok(wide.beginNs <= screen.beginNs - room && wide.endNs >= screen.endNs + room);
    assert.ok(wide.endNs - wide.beginNs <= 8 * (screen.endNs - screen.beginNs));
    const tight = tightTile(screen, bounds);
    assert.ok(covers(tight, screen, bounds) && tight.endNs - tight.beginNs <= 1.3 * (screen.endNs - screen.beginNs) + 2);
    const asked = questionOf(wide, bounds);
    assert.ok(asked.begin_ns! >= 0 && asked.end_ns! <= 1e9 && asked.begin_ns! < asked.end_ns!);
    assert.ok(Number.isInteger(asked.begin_ns) && Number.isInteger(asked.end_ns));
  }
});

test("a small step needs no other tile, and the next one is a neighbour", () => {
  const middle = { ...view, beginNs: 5.1e8, endNs: 5.5e8 };
  assert.equal(keyOf(wideTile(middle, bounds)), keyOf(wideTile(pan(middle, bounds, 0.02, 0), bounds)));
  const around = neighbours(middle, bounds).map(keyOf);
  const step = pan(middle, bounds, 0.75, 0);
  assert.ok(around.includes(keyOf(wideTile(step, bounds))));
  assert.ok(!around.includes(keyOf(wideTile(middle, bounds))));
  assert.deepEqual(neighbours(wholeOf(bounds), bounds), [], "of all of the time there is no more");
});

test("a small world is asked whole: both ends of each message are there", () => {
  const tile = wideTile({ ...view, firstRank: 2, endRank: 3 }, { ...bounds, ranks: 8 });
  assert.deepEqual([tile.firstRank, tile.endRank], [0, 8]);
});

class Asked {
  readonly open: { slot: Slot; tile: Tile; show: (answer: string) => void }[] = [];
  answers = 0;
  readonly store = new TileStore<string>(
    (slot, tile, show) => this.open.push({ slot, tile, show }), () => ++this.answers);
}
const tile = (beginNs: number): Tile => ({ beginNs, endNs: beginNs + 1, firstRank: 0, endRank: 1 });

test("what is needed now is asked for first, then what comes next, each once", () => {
  const { store, open } = new Asked();
  store.want([tile(1)], [tile(2), tile(3)]);
  store.want([tile(1)], [tile(2), tile(3)]);
  assert.deepEqual(open.map(({ slot, tile: { beginNs } }) => [slot, beginNs]), [["now", 1]]);
  assert.ok(store.isWaiting);
  open[0]!.show("one");
  assert.ok(!store.isWaiting);
  open[1]!.show("two");
  open[2]!.show("three");
  assert.deepEqual(open.map(({ slot, tile: { beginNs } }) => [slot, beginNs]),
    [["now", 1], ["ahead", 2], ["ahead", 3]]);
  assert.equal(store.find(tile(3))!.answer, "three");
});

test("an answer to an older question is dropped", () => {
  const { store, open } = new Asked();
  store.want([tile(1)], []);
  store.want([tile(2)], []);
  open[0]!.show("late");
  assert.equal(store.find(tile(1)), undefined);
  open[1]!.show("two");
  assert.equal(store.find(tile(2))!.answer, "two");
});

test("an old answer is drawn until the new one is there", () => {
  const { store, open } = new Asked();
  store.want([tile(1)], []);
  open[0]!.show("old");
  store.renew(() => true);
  assert.equal(store.find(tile(1))!.answer, "old");
  open[1]!.show("new");
  assert.equal(store.find(tile(1))!.answer, "new");
  store.renew(() => false);
  assert.equal(open.length, 2);
});

test("a question that failed is asked again by renew", () => {
  const { store, open } = new Asked();
  store.want([tile(1)], []);
  store.renew(() => false);
  assert.equal(open.length, 2);
});

test("of many answers those that were not used for longest are forgotten", () => {
  const { store, open } = new Asked();
  for (let at = 0; at <= kMaxKept; ++at) {
    store.want([tile(at)], []);
    store.find(tile(0));
    open.at(-1)!.show(String(at));
  }
  assert.equal(store.find(tile(0))!.answer, "0");
  assert.equal(store.find(tile(1)), undefined);
});
