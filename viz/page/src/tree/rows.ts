// The overlay as rows of a table: each process below its parent, similar back ends as one row.
//
// A tree of 1024 hosts has 1024 back ends that differ only in their host's name. Five or more back ends with the same
// parent and state are folded into one row with their sums. A back end that is lost or silent always has a row of its
// own.

import type { TreeNode } from "../answers.ts";
import { troubleOf, type Branch } from "./branches.ts";

export interface Row {
  /** One process, or all processes that are folded into this row, sorted by host. */
  readonly nodes: readonly TreeNode[];
  /** The name of the fold, for `open`; null: there is nothing to fold. */
  readonly fold: string | null;
  readonly isFolded: boolean;
  /** 0: a process without a known parent, usually the front end. */
  readonly depth: number;
  /** For each depth from 1: whether that branch continues below this row. */
  readonly goesOn: readonly boolean[];
  /** Sums over the row's processes and all processes below them. */
  readonly ranks: number;
  readonly leaves: number;
}

/** Minimum number of similar back ends that are folded. */
export const kFoldFrom = 5;

/** The rows of a tree. Folds in `open` are shown as single rows. */
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

/** Groups of siblings, in order. Similar back ends are together, at the place of the first of them. */
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

/** "node00 … node15 (16 hosts)"; one or two hosts by name. */
export function hostsOf(nodes: readonly TreeNode[]): string {
  const hosts = [...new Set(nodes.map((node) => node.host))];
  return hosts.length <= 2 ? hosts.join(", ") : `${hosts[0]} … ${hosts.at(-1)} (${hosts.length} hosts)`;
}

/** Sums over the links of a row; null: unknown for all of them. */
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
