// The overlay as rows that are read from the top down: each process below its parent, alike leaves as one.
//
// A tree of 1024 hosts has 1024 leaves that differ in nothing but their host's name. Leaves of one parent
// that are in the same state are folded into a row of their sums; one that is lost or silent stands for
// itself, so that it is seen whatever the tree's size.

import type { TreeNode } from "../answers.ts";
import { troubleOf, type Branch } from "./branches.ts";

export interface Row {
  /** One, or all that are folded into this row, by host. */
  readonly nodes: readonly TreeNode[];
  /** Names the fold for `open`; null where there is nothing to fold. */
  readonly fold: string | null;
  readonly isFolded: boolean;
  /** 0: the front end. */
  readonly depth: number;
  /** For each depth from 1 on: whether that branch goes on below this row. */
  readonly goesOn: readonly boolean[];
  /** Of the row's processes and all below them. */
  readonly ranks: number;
  readonly leaves: number;
}

/** From so many alike leaves of one parent on they are one row. */
export const kFoldFrom = 5;

/** Rows of a tree; what `open` names is not folded. */
export function rowsOf(roots: readonly Branch[], open: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const visit = (siblings: readonly Branch[], parent: string, depth: number, goesOn: readonly boolean[]): void => {
    const groups = groupsOf(siblings, parent, open);
    groups.forEach(({ branches, fold, isFolded }, at) => {
      const on = depth === 0 ? [] : [...goesOn, at + 1 < groups.length];
      rows.push({
        nodes: branches.map((branch) => branch.node), fold, isFolded, depth, goesOn: on,
        ranks: branches.reduce((sum, branch) => sum + branch.ranks, 0),
        leaves: branches.reduce((sum, branch) => sum + branch.leaves, 0),
      });
      if (branches.length === 1) visit(branches[0]!.children, String(branches[0]!.node.id), depth + 1, on);
    });
  };
  visit(roots, "", 0, []);
  return rows;
}

interface Group {
  readonly branches: readonly Branch[];
  readonly fold: string | null;
  readonly isFolded: boolean;
}

/** Siblings in their order; alike leaves together, where the first of them is. */
function groupsOf(siblings: readonly Branch[], parent: string, open: ReadonlySet<string>): Group[] {
  const alike = new Map<string, Branch[]>();
  const ordered: { branches: Branch[]; fold: string | null }[] = [];
  for (const branch of siblings) {
    const isLeaf = branch.node.role === "back_end" && branch.children.length === 0 && troubleOf(branch.node) === null;
    const fold = isLeaf ? `${parent}.${branch.node.state}` : null;
    const group = fold === null ? undefined : alike.get(fold);
    if (group !== undefined) {
      group.push(branch);
      continue;
    }
    const begun = [branch];
    ordered.push({ branches: begun, fold });
    if (fold !== null) alike.set(fold, begun);
  }
  return ordered.flatMap(({ branches, fold }): Group[] => {
    if (fold === null || branches.length < kFoldFrom) {
      return branches.map((branch) => ({ branches: [branch], fold: null, isFolded: false }));
    }
    if (!open.has(fold)) return [{ branches, fold, isFolded: true }];
    return branches.map((branch) => ({ branches: [branch], fold, isFolded: false }));
  });
}

/** "node00 … node15 (16 hosts)" of many, the name of one. */
export function hostsOf(nodes: readonly TreeNode[]): string {
  const hosts = [...new Set(nodes.map((node) => node.host))];
  return hosts.length <= 2 ? hosts.join(", ") : `${hosts[0]} … ${hosts.at(-1)} (${hosts.length} hosts)`;
}

/** What the links of a row do together; null: none has told of it. */
export interface LinkSum {
  readonly packetsPerS: number | null;
  readonly bytesPerS: number | null;
  readonly queueBytes: number | null;
  /** The longest. */
  readonly roundTripNs: number | null;
}

export function linkOf(nodes: readonly TreeNode[]): LinkSum {
  const links = nodes.flatMap((node) => (node.link === undefined ? [] : [node.link]));
  const known = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);
  const sum = (values: readonly (number | null)[]): number | null => {
    const there = known(values);
    return there.length === 0 ? null : there.reduce((total, value) => total + value, 0);
  };
  const trips = known(links.map((link) => link.round_trip_ns));
  return {
    packetsPerS: sum(links.map((link) => link.packets_per_s)),
    bytesPerS: sum(links.map((link) => link.bytes_per_s)),
    queueBytes: sum(links.map((link) => link.queue_bytes)),
    roundTripNs: trips.length === 0 ? null : Math.max(...trips),
  };
}
