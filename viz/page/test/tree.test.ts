import assert from "node:assert/strict";
import { test } from "node:test";

import type { TreeNode } from "../src/answers.ts";
import { branchesOf, branchOf, troubleOf } from "../src/tree/branches.ts";
import { hostsOf, linkOf, rowsOf } from "../src/tree/rows.ts";
import { nearest, spotsOf } from "../src/tree/spots.ts";

function node(id: number, parent: number | null, role: string, more: Partial<TreeNode> = {}): TreeNode {
  return { id, parent, role, host: `node${id}`, state: "attached", level: parent === null ? 0 : 1, ranks: 0,
           silent_ns: null, reason: null, ...more };
}

/** A front end, and communication processes that each have back ends with two ranks. */
function wide(inner: number, leaves: number): TreeNode[] {
  const nodes = [node(0, null, "front_end")];
  for (let at = 1; at <= inner; ++at) nodes.push(node(at, 0, "comm_process"));
  for (let at = 1; at <= inner; ++at) {
    for (let leaf = 0; leaf < leaves; ++leaf) nodes.push(node(1000 * at + leaf, at, "back_end", { ranks: 2 }));
  }
  return nodes;
}
const none = new Set<string>();

test("alike leaves are one row of their sums, so that a thousand of them fit a screen", () => {
  const rows = rowsOf(branchesOf(wide(64, 16)), none);
  assert.equal(rows.length, 1 + 64 + 64);
  assert.deepEqual([rows[0]!.leaves, rows[0]!.ranks], [1024, 2048]);
  const folded = rows[2]!;
  assert.deepEqual([folded.isFolded, folded.nodes.length, folded.ranks, folded.depth], [true, 16, 32, 2]);
});

test("a fold that is opened tells each leaf, and every process is in a row once", () => {
  const nodes = wide(3, 16);
  const folded = rowsOf(branchesOf(nodes), none);
  const fold = folded[2]!.fold!;
  const rows = rowsOf(branchesOf(nodes), new Set([fold]));
  assert.equal(rows.length, folded.length + 15);
  assert.ok(rows.filter((row) => row.fold === fold).every((row) => !row.isFolded));
  assert.deepEqual(rows.flatMap((row) => row.nodes.map((one) => one.id)).sort((a, b) => a - b),
    nodes.map((one) => one.id).sort((a, b) => a - b));
});

test("a leaf that is lost or silent stands for itself", () => {
  const nodes = wide(1, 16);
  nodes[5] = { ...nodes[5]!, state: "lost" };
  nodes[7] = { ...nodes[7]!, silent_ns: 5e9 };
  const rows = rowsOf(branchesOf(nodes), none);
  assert.deepEqual(rows.slice(2).map((row) => row.nodes.length).sort(), [1, 1, 14]);
  assert.deepEqual([troubleOf(nodes[5]!), troubleOf(nodes[7]!), troubleOf(nodes[6]!)], ["lost", "silent", null]);
});

test("a few leaves are told one by one, node2 before node10", () => {
  const rows = rowsOf(branchesOf([node(0, null, "front_end"), node(10, 0, "back_end"), node(2, 0, "back_end")]), none);
  assert.deepEqual(rows.map((row) => row.nodes[0]!.id), [0, 2, 10]);
});

test("the lines of the tree go on where siblings follow", () => {
  const rows = rowsOf(branchesOf(wide(2, 1)), none);
  assert.deepEqual(rows.map((row) => [...row.goesOn]), [[], [true], [true, false], [false], [false, false]]);
});

test("a parent that is not told of and a ring lose no process and end", () => {
  const orphan = branchesOf([node(0, null, "front_end"), node(5, 99, "back_end")]);
  assert.deepEqual(orphan.map((branch) => branch.node.id), [0, 5]);
  const ring = branchesOf([node(1, 2, "comm_process"), node(2, 1, "comm_process")]);
  assert.deepEqual(rowsOf(ring, none).map((row) => row.nodes[0]!.id), [1, 2]);
});

test("leaves share the width, parents stand above theirs", () => {
  const spots = spotsOf(branchesOf(wide(2, 4)));
  const leaves = spots.filter((spot) => spot.line === 2);
  assert.deepEqual(leaves.map((spot) => spot.x * 16), [1, 3, 5, 7, 9, 11, 13, 15]);
  assert.deepEqual(spots.filter((spot) => spot.line === 1).map((spot) => spot.x), [0.25, 0.75]);
  assert.equal(spots[0]!.x, 0.5);
  assert.equal(nearest(spots, 0.3, 1)!.x, 0.25);
  assert.equal(nearest(spots, 0.3, 7), null);
});

test("the links of a row are summed, but its round trip is the longest", () => {
  const link = { at_ns: 0, queue_bytes: 5, refused: 0, transport: "tcp", round_trip_ns: 100, packets_per_s: 2,
                 bytes_per_s: null };
  const sum = linkOf([node(1, 0, "back_end", { link }), node(2, 0, "back_end", { link: { ...link, round_trip_ns: 300 } }),
                      node(3, 0, "back_end")]);
  assert.deepEqual({ ...sum }, { packetsPerS: 4, bytesPerS: null, queueBytes: 10, roundTripNs: 300 });
});

test("many hosts are named by the first and the last", () => {
  assert.equal(hostsOf([node(1, 0, "back_end")]), "node1");
  assert.equal(hostsOf([1, 2, 3].map((id) => node(id, 0, "back_end"))), "node1 … node3 (3 hosts)");
});

test("a process is found below whatever it stands", () => {
  const roots = branchesOf(wide(3, 4));
  assert.equal(branchOf(roots, 2)!.ranks, 8);
  assert.equal(branchOf(roots, 2003)!.node.id, 2003);
  assert.equal(branchOf(roots, 0)!.ranks, 24);
  assert.equal(branchOf(roots, 77), null);
});
