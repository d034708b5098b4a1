import assert from "node:assert/strict";
import { test } from "node:test";

import type { Call, Timeline } from "../src/answers.ts";
import { parsePlace } from "../src/place.ts";
import { arrowsOf, kMaxArrows, type Arrows } from "../src/timeline/arrows.ts";
import { callAt, messageAt, windowAt } from "../src/timeline/hits.ts";
import { fitting, inkOn, multiples, roundStep } from "../src/timeline/labels.ts";
import { firstAfter, layOut, longestOf, pick } from "../src/timeline/lanes.ts";
import { endOf, listed } from "../src/timeline/panel.ts";
import { changeOf, viewportOf } from "../src/timeline/range.ts";
import { linkText } from "../src/timeline/links.ts";
import { rulerText } from "../src/timeline/ruler.ts";
import { bestOf, callLike, isOf, linkedWith, sceneOf } from "../src/timeline/scene.ts";
import { clip, distance } from "../src/timeline/segments.ts";
import { detailOf, statusOf } from "../src/timeline/status.ts";
import { showNear } from "../src/timeline/viewport.ts";

function call(rank: number, begin_ns: number, end_ns: number, more: Partial<Call> = {}): Call {
  return { rank, thread: 0, begin_ns, end_ns, function: "MPI_Send", class: "point_to_point", peer: 1, tag: 0,
           comm: 0, bytes: 8, calls: 1, estimated: false, ...more };
}

function answer(calls: Call[], more: Partial<Timeline> = {}): Timeline {
  return {
    version: 1, view: "timeline",
    scope: { begin_ns: 0, end_ns: 1000, run_begin_ns: 0, run_end_ns: 1000, has_ended: true, estimated: false,
             lost_calls: 0, incomplete_ranks: 0 },
    detail: "calls", reason: "", too_many: false, calls_in_all: calls.length, calls, messages_in_all: 0,
    unpaired: 0, backwards: 0,
    messages: [], longest: [],
    windows: { value: "mpi", unit: "ns", world_size: 0, slot_ns: 0, columns: 0, rows: [] }, ...more };
}

/** Random numbers, the same in each run. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  };
}

test("calls that follow each other share a lane, a call within another has one below it", () => {
  const lanes = layOut([call(0, 200, 300), call(0, 0, 100), call(0, 10, 20), call(0, 100, 200), call(1, 0, 5)]);
  assert.deepEqual(lanes.get(0)!.map((lane) => lane.calls.map((one) => one.begin_ns)), [[0, 100, 200], [10]]);
  assert.equal(lanes.get(1)!.length, 1);
  assert.equal(lanes.get(2), undefined);
});

test("each thread has lanes of its own", () => {
  const lanes = layOut([call(0, 0, 10), call(0, 20, 30, { thread: 1 })]).get(0)!;
  assert.deepEqual(lanes.map((lane) => lane.thread), [0, 1]);
});

test("in any lane calls are disjoint and in order, and no call is left out", () => {
  const next = random(7);
  for (let trial = 0; trial < 50; ++trial) {
    const calls = Array.from({ length: 200 }, () => {
      const begin = Math.floor(next() * 1000);
      return call(Math.floor(next() * 3), begin, begin + Math.floor(next() * 50), { thread: Math.floor(next() * 2) });
    });
    const rows = layOut(calls);
    let found = 0;
    for (const lanes of rows.values()) {
      for (const lane of lanes) {
        found += lane.calls.length;
        lane.calls.forEach((one, at) => assert.ok(at === 0 || lane.calls[at - 1]!.end_ns <= one.begin_ns));
      }
    }
    assert.equal(found, calls.length);
  }
});

test("halving finds what looking at each call finds", () => {
  const next = random(11);
  const calls: Call[] = [];
  for (let at = 0; at < 2000; at += 1 + Math.floor(next() * 9)) {
    const length = Math.floor(next() * 8);
    calls.push(call(0, at, at + length));
    at += length;
  }
  const lane = { thread: 0, calls };
  for (let ns = -5; ns < 2100; ++ns) {
    const slowly = calls.findIndex((one) => one.end_ns > ns);
    assert.equal(firstAfter(lane, ns), slowly < 0 ? calls.length : slowly);
    const apart = (one: Call): number => Math.max(one.begin_ns - ns, ns - one.end_ns, 0);
    const nearest = Math.min(...calls.map(apart));
    const hit = pick(lane, ns, 3);
    if (nearest > 3) assert.equal(hit, null);
    else assert.equal(apart(hit!), nearest);
  }
});

test("the longest calls of a time and of ranks are those that sorting gives", () => {
  const next = random(3);
  const calls = Array.from({ length: 500 }, () => {
    const begin = Math.floor(next() * 1000);
    return call(Math.floor(next() * 4), begin, begin + Math.floor(next() * 40));
  });
  const sorted = calls.filter((one) => one.begin_ns < 600 && one.end_ns > 300 && one.rank < 2)
    .sort((a, b) => (b.end_ns - b.begin_ns) - (a.end_ns - a.begin_ns) || a.begin_ns - b.begin_ns || a.rank - b.rank);
  const key = (one: Call): string => `${one.rank} ${one.begin_ns} ${one.end_ns}`;
  assert.deepEqual(longestOf(calls, 300, 600, 0, 2, 10).map(key), sorted.slice(0, 10).map(key));
  assert.deepEqual(longestOf([], 0, 1, 0, 1, 10), []);
});

test("a line is cut to the box, and one beside it is none", () => {
  assert.deepEqual(clip({ x1: -10, y1: 5, x2: 30, y2: 5 }, 20, 10), { x1: 0, y1: 5, x2: 20, y2: 5 });
  assert.deepEqual(clip({ x1: 5, y1: 20, x2: 5, y2: -10 }, 20, 10), { x1: 5, y1: 10, x2: 5, y2: 0 });
  assert.deepEqual(clip({ x1: 1, y1: 1, x2: 2, y2: 2 }, 20, 10), { x1: 1, y1: 1, x2: 2, y2: 2 });
  assert.equal(clip({ x1: -10, y1: 5, x2: -1, y2: 5 }, 20, 10), null);
  assert.equal(clip({ x1: -10, y1: 9, x2: 10, y2: 40 }, 20, 10), null);
});

test("the distance of a line is that of its nearest point", () => {
  assert.equal(distance({ x1: 0, y1: 0, x2: 10, y2: 0 }, 5, 3), 3);
  assert.equal(distance({ x1: 0, y1: 0, x2: 10, y2: 0 }, 13, 4), 5);
  assert.equal(distance({ x1: 1, y1: 1, x2: 1, y2: 1 }, 4, 5), 5);
});

test("a name is whole, without MPI_, or not there", () => {
  assert.equal(fitting("MPI_Allreduce", 100, 6), "MPI_Allreduce");
  assert.equal(fitting("MPI_Allreduce", 60, 6), "Allreduce");
  assert.equal(fitting("MPI_Allreduce", 50, 6), "");
});

test("times are marked at round steps, not too many", () => {
  assert.equal(roundStep(1000, 10), 100);
  assert.equal(roundStep(1001, 10), 200);
  assert.equal(roundStep(4e9, 10), 5e8);
  assert.equal(roundStep(3, 10), 1);
  assert.deepEqual(multiples(95, 310, 100), [100, 200, 300]);
});

test("words on a colour are black or white, whichever is read more easily", () => {
  assert.equal(inkOn("#0072b2"), "#ffffff");
  assert.equal(inkOn("#e69f00"), "#000000");
});

const bounds = { beginNs: 0, endNs: 1000, ranks: 8 };

test("an address says time and ranks, and a viewport is written back as the address it came from", () => {
  const place = parsePlace("#/timeline?begin=200&end=600&ranks=1.50-3.50&messages=off", "overview");
  const view = viewportOf(place, bounds);
  assert.deepEqual(view, { beginNs: 200, endNs: 600, firstRank: 1.5, endRank: 3.5 });
  const change = changeOf(view, bounds, place);
  assert.deepEqual([change.begin, change.end], [200, 600]);
  assert.deepEqual({ ...change.own }, { messages: "off", ranks: "1.50-3.50" });
});

test("all of the time is no range, so that it grows with the run", () => {
  const place = parsePlace("#/timeline", "overview");
  const change = changeOf(viewportOf(place, bounds), bounds, place);
  assert.deepEqual([change.begin, change.end, { ...change.own }], [null, null, {}]);
});

test("a rank that another view has named is in the middle of a large world", () => {
  const view = viewportOf(parsePlace("#/timeline?rank=500", "overview"), { ...bounds, ranks: 1024 });
  assert.deepEqual([view.firstRank, view.endRank], [492.5, 508.5]);
});

test("what a person types into an address stays within the run", () => {
  const place = parsePlace("#/timeline?begin=-50&end=99999999&ranks=7-900", "overview");
  assert.deepEqual(viewportOf(place, bounds), { beginNs: 0, endNs: 1000, firstRank: 0, endRank: 8 });
});

const view = { beginNs: 0, endNs: 1000, firstRank: 0, endRank: 2 };
const point = { width: 1000, height: 100 };

test("a point hits the call below it, a thin one from nearby", () => {
  const scene = sceneOf(answer([call(0, 100, 200), call(1, 500, 500)]));
  assert.equal(callAt(scene, view, { x: 150, y: 25, ...point })!.begin_ns, 100);
  assert.equal(callAt(scene, view, { x: 503, y: 75, ...point })!.begin_ns, 500);
  assert.equal(callAt(scene, view, { x: 300, y: 25, ...point }), null);
  assert.equal(callAt(scene, view, { x: 150, y: 75, ...point }), null);
  assert.equal(callAt(scene, view, { x: -3, y: 25, ...point }), null);
});

test("a message is hit on its line, and one of which an end is unknown only near the other end", () => {
  const message = { source: 0, destination: 1, sent_ns: 100, received_ns: 100, bytes: 8, tag: 1, comm: 0 };
  const sent = { ...message, sent_ns: 800, received_ns: null };
  const received = { ...message, sent_ns: null, received_ns: 500 };
  const scene = sceneOf(answer([], { messages: [message, sent, received] }));
  assert.equal(messageAt(scene, view, { x: 102, y: 50, ...point }), message);
  assert.equal(messageAt(scene, view, { x: 110, y: 50, ...point }), null);
  assert.equal(messageAt(scene, view, { x: 804, y: 31, ...point }), sent);
  assert.equal(messageAt(scene, view, { x: 800, y: 60, ...point }), null, "nobody knows where it went");
  assert.equal(messageAt(scene, view, { x: 496, y: 69, ...point }), received);
  assert.equal(messageAt(scene, view, { x: 500, y: 40, ...point }), null);
});

test("of too many messages the largest have a line, wherever they are", () => {
  const messages = Array.from({ length: kMaxArrows + 500 }, (_, at) => (
    { source: 0, destination: 1, sent_ns: at / 10, received_ns: at / 10 + 5, bytes: at < 500 ? 1 : 8, tag: 1, comm: 0 }));
  const itself = { ...messages[0]!, destination: 0, bytes: 100 };
  const elsewhere = { ...messages[0]!, sent_ns: 2000, received_ns: 2001, bytes: 100 };
  const scene = sceneOf(answer([], { messages: [...messages, itself, elsewhere] }));
  const { shown, inView } = arrowsOf(scene, view, point.width, point.height);
  assert.equal(inView, messages.length);
  assert.deepEqual(new Set(shown.map((one) => one.message)), new Set(messages.slice(500)));
  assert.deepEqual(arrowsOf(scene, { ...view, endNs: 40 }, point.width, point.height).shown.map((one) => one.message),
    messages.slice(0, 401), "all of those that are here");
  assert.equal(messageAt(scene, view, { x: 2, y: 50, ...point }), null, "what has no line is not found");
});

test("an arrow ends where its message is received only if this is on the plot", () => {
  const message = { source: 0, destination: 1, sent_ns: 10, received_ns: 100, bytes: 8, tag: 1, comm: 0 };
  const scene = sceneOf(answer([], { messages: [message] }));
  for (const [endNs, endsHere] of [[200, true], [50, false]] as const) {
    const { shown } = arrowsOf(scene, { ...view, endNs }, 100, 100);
    assert.deepEqual(shown.map((one) => one.endsHere), [endsHere]);
  }
});

test("a message belongs to the call that sent it and to the one that received it", () => {
  const message = { source: 0, destination: 1, sent_ns: 100, received_ns: 300, bytes: 8, tag: 1, comm: 0 };
  assert.ok(isOf(message, call(0, 100, 150)));
  assert.ok(isOf(message, call(1, 50, 300)));
  assert.ok(!isOf(message, call(1, 100, 150)));
});

const windows: Partial<Timeline> = {
  detail: "windows", too_many: true, reason: "more",
  windows: { value: "mpi", unit: "ns", world_size: 2, slot_ns: 500, columns: 2,
             rows: [{ first_rank: 0, ranks: 2, host: "", total: 750, cells: [250, 500],
                     watched_ns: 2000, watched: [[2, 1000]] }] } };

test("a window tells its ranks and its share of time in MPI", () => {
  const scene = sceneOf(answer([], windows));
  assert.deepEqual(windowAt(scene, view, { x: 600, y: 70, ...point }),
    { firstRank: 0, ranks: 2, beginNs: 500, lengthNs: 500, share: 0.5, dominant: null });
  assert.equal(windowAt(sceneOf(answer([])), view, { x: 600, y: 70, ...point }), null);
});

test("single calls are drawn rather than windows, and all of the screen rather than a part of it", () => {
  const all = { beginNs: 0, endNs: 2048, firstRank: 0, endRank: 2 };
  const coarse = { tile: all, answer: sceneOf(answer([], windows)), isOld: false };
  const calls = { tile: all, answer: sceneOf(answer([call(0, 0, 1)])), isOld: false };
  const part = { tile: { ...all, endNs: 512 }, answer: sceneOf(answer([call(0, 0, 1)])), isOld: false };
  assert.equal(bestOf([coarse, calls], view), calls.answer);
  assert.equal(bestOf([part, coarse], view), coarse.answer);
  assert.equal(bestOf([part], { ...view, beginNs: 600 }), null);
});

test("what is old gives way to news, whatever its detail, but not to a part of the screen", () => {
  const all = { beginNs: 0, endNs: 2048, firstRank: 0, endRank: 2 };
  const old = { tile: all, answer: sceneOf(answer([call(0, 0, 1)])), isOld: true };
  const fresh = { tile: { ...all, endNs: 8192 }, answer: sceneOf(answer([], windows)), isOld: false };
  const part = { tile: { ...all, endNs: 500 }, answer: sceneOf(answer([call(0, 0, 1)])), isOld: false };
  assert.equal(bestOf([old, fresh], view), fresh.answer);
  assert.equal(bestOf([old, part], view), old.answer);
});

test("a call that is known by its window is found again by its length", () => {
  const scene = sceneOf(answer([call(0, 100, 200), call(0, 300, 340), call(0, 400, 440)]));
  const like = { rank: 0, function: "MPI_Send", beginNs: 250, endNs: 500, durationNs: 40 };
  assert.equal(callLike(scene, like)!.begin_ns, 300);
  assert.equal(callLike(scene, { ...like, beginNs: 400, endNs: 440 })!.begin_ns, 400);
  assert.equal(callLike(scene, { ...like, rank: 1 }), null);
});

test("a call that had not returned is found again when it is longer, or has returned", () => {
  const open = sceneOf(answer([call(0, 100, 200, { is_open: true })]));
  assert.ok(open.hasOpenCalls);
  const like = listed(open.answer.calls[0]!);
  const ended = sceneOf(answer([call(0, 100, 900), call(0, 950, 1050)]));
  assert.ok(!ended.hasOpenCalls);
  assert.equal(callLike(ended, like)!.end_ns, 900);
  assert.equal(callLike(ended, { ...like, isOpen: false }), null);
});

test("an open call of a rank that ended, or of a lost host, does not go on", () => {
  const ended = call(0, 100, 200, { is_open: true, has_ended: true });
  const lost = call(1, 100, 200, { is_open: true, host_lost: true });
  assert.ok(!sceneOf(answer([ended, lost])).hasOpenCalls);
  assert.ok(sceneOf(answer([ended, call(1, 0, 9, { is_open: true })])).hasOpenCalls);
  assert.equal(endOf(ended), ", the rank ended in it");
  assert.equal(endOf(lost), ", then its host was lost");
  assert.equal(endOf(call(0, 0, 9, { is_open: true })), " so far");
  assert.equal(endOf(call(0, 0, 9)), "");
});

test("a time of which only calls under way are known is not said to be complete", () => {
  const open = [call(0, 0, 900, { is_open: true })];
  assert.equal(detailOf(sceneOf(answer(open))), "each call is drawn.");
  assert.equal(detailOf(sceneOf(answer(open, { reason: "others are not stored" }))),
    "calls that have not returned; others are not stored.");
});

test("densities have a class for each slot, and would be calls for less time", () => {
  const grid = windows.windows!;
  const densities = { ...grid, classes: ["collective", "probe"],
                      rows: [{ ...grid.rows[0]!, cells: [250, 0], dominant: [[1, 1], [1, 0]] as [number, number][] }] };
  const scene = sceneOf(answer([], { detail: "densities", densities, calls_in_all: 6000 }));
  assert.equal(windowAt(scene, view, { x: 100, y: 20, ...point })!.dominant, "probe");
  assert.equal(windowAt(scene, view, { x: 600, y: 20, ...point })!.dominant, null, "there was no call");
  assert.ok(scene.isTooMuch);
  assert.match(detailOf(scene), /^6,000 calls around here;/);
  const all = { beginNs: 0, endNs: 2048, firstRank: 0, endRank: 2 };
  const coarse = { tile: all, answer: sceneOf(answer([], windows)), isOld: false };
  assert.equal(bestOf([coarse, { tile: all, answer: scene, isOld: false }], view), scene);
});

test("the calls of a collective are linked, over all ranks, by communicator and number", () => {
  const all = (rank: number, number: number, more: Partial<Call> = {}): Call =>
    call(rank, 100 * number + rank, 100 * number + 50, { class: "collective", function: "MPI_Barrier", peer: null, number, ...more });
  const calls = [all(2, 1), all(0, 1), all(1, 1), all(0, 2), all(1, 1, { comm: 5 }), call(1, 0, 1, { number: 1 })];
  const scene = sceneOf(answer(calls));
  assert.deepEqual(linkedWith(scene, calls[0]!).map((one) => one.rank), [0, 1, 2]);
  assert.deepEqual(linkedWith(scene, calls[3]!), [calls[3]]);
  assert.deepEqual(linkedWith(scene, calls[5]!), [], "a message has a number, too");
  assert.deepEqual(linkedWith(sceneOf(answer([])), call(0, 0, 1, { class: "collective" })), [], "its number is unknown");
  assert.equal(linkText(linkedWith(scene, calls[0]!)),
    "collective 1 on communicator 0: 3 calls here. Rank 0 began first, rank 2 last, 2 ns later.");
});

test("a call that was found is shown with its surroundings", () => {
  const bounds = { beginNs: 0, endNs: 1e9, ranks: 100 };
  const near = showNear({ beginNs: 0, endNs: 1e9, firstRank: 0, endRank: 10 }, bounds, 50, 5e8, 5e8 + 1000);
  assert.equal(near.endNs - near.beginNs, 200_000, "not so far away that it cannot be seen");
  assert.equal((near.beginNs + near.endNs) / 2, 5e8 + 500);
  assert.deepEqual([near.firstRank, near.endRank], [45.5, 55.5]);
  const same = showNear({ beginNs: 0, endNs: 50_000, firstRank: 45, endRank: 55 }, bounds, 50, 5e8, 5e8 + 1000);
  assert.equal(same.endNs - same.beginNs, 50_000);
  assert.deepEqual([same.firstRank, same.endRank], [45, 55]);
});

test("the ruler tells the length between two points, in any order", () => {
  assert.equal(rulerText({ fromNs: 2_500_000, toNs: 1_000_000 }), "1.50 ms");
});

test("what is said of messages that are drawn, and of those that cannot be drawn", () => {
  const view = { beginNs: 0, endNs: 1000, firstRank: 0, endRank: 2 };
  const text = (more: Partial<Timeline>, arrows: Arrows | null = null): string[] => {
    const found: string[] = [];
    (globalThis as { document?: unknown }).document = {
      createElement: () => ({ setAttribute() {}, replaceChildren(...parts: string[]) { found.push(parts.join("")); } }) };
    statusOf(sceneOf(answer([], more)), view, false, arrows);
    return found;
  };
  assert.ok(text({ unpaired: 2 }).some((one) => one.includes("2 ends of messages")));
  assert.ok(text({ backwards: 1 }).some((one) => one.includes("1 message would go back in time")));
  assert.ok(!text({}).some((one) => one.includes("messages")));
  const message = { source: 0, destination: 1, sent_ns: 1, received_ns: 2, bytes: 8, tag: 1, comm: 0 };
  const shown = [{ message, line: { x1: 0, y1: 0, x2: 1, y2: 1 }, endsHere: true }];
  assert.ok(text({}, { shown, inView: 1 }).some((one) => one.includes("1 message has a line.")));
  assert.ok(text({}, { shown, inView: 3 }).some((one) => one.includes("The 1 largest of 3 messages have a line.")));
  assert.ok(!text({}, { shown: [], inView: 0 }).some((one) => one.includes("line")));
});

test("what is too much would show more of less time", () => {
  assert.ok(sceneOf(answer([], windows)).isTooMuch);
  assert.ok(!sceneOf(answer([call(0, 0, 1)])).isTooMuch);
});
