// The processes of an overlay by their parents. A file is a stranger's: a parent may not be told any more, or
// a ring may be; each process is found once whatever stands there.

import type { TreeNode } from "../answers.ts";

export interface Branch {
  readonly node: TreeNode;
  readonly children: readonly Branch[];
  /** Of it and all below. */
  readonly ranks: number;
  readonly leaves: number;
}

/** node2 before node10. */
const kByName = new Intl.Collator("en", { numeric: true });

/** What has no parent that is told of: the front end, and what has lost its own. Children are by host. */
export function branchesOf(nodes: readonly TreeNode[]): Branch[] {
  const known = new Set(nodes.map((node) => node.id));
  const below = new Map<number, TreeNode[]>();
  const roots: TreeNode[] = [];
  for (const node of nodes) {
    if (node.parent === null || !known.has(node.parent)) {
      roots.push(node);
    } else {
      const siblings = below.get(node.parent);
      if (siblings === undefined) below.set(node.parent, [node]);
      else siblings.push(node);
    }
  }
  const seen = new Set<number>();
  // Programs that send on the run's streams are no hosts, but leaves.
  const isLeaf = (node: TreeNode): boolean => node.role === "back_end" || node.role === "program";
  const grow = (node: TreeNode): Branch => {
    seen.add(node.id);
    const children = (below.get(node.id) ?? []).filter((child) => !seen.has(child.id))
      .sort((a, b) => kByName.compare(a.host, b.host) || a.id - b.id).map(grow);
    return {
      node, children,
      ranks: children.reduce((sum, child) => sum + child.ranks, node.ranks),
      leaves: children.reduce((sum, child) => sum + child.leaves, isLeaf(node) ? 1 : 0),
    };
  };
  const grown = roots.map(grow);
  for (const node of nodes) if (!seen.has(node.id)) grown.push(grow(node));
  return grown;
}

/** The one of a process. */
export function branchOf(branches: readonly Branch[], id: number): Branch | null {
  for (const branch of branches) {
    const found = branch.node.id === id ? branch : branchOf(branch.children, id);
    if (found !== null) return found;
  }
  return null;
}

/** What is wrong with a process, or null. One that has left is well: it has done what it should. */
export function troubleOf(node: TreeNode): "lost" | "silent" | null {
  if (node.state === "lost") return "lost";
  return node.silent_ns === null ? null : "silent";
}
