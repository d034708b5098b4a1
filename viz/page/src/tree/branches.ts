// The processes of an overlay as a tree. The data is not trusted: a parent may be missing, or parents may form a
// cycle. Each process is in the tree exactly once in any case.

import type { TreeNode } from "../answers.ts";

export interface Branch {
  readonly node: TreeNode;
  readonly children: readonly Branch[];
  /** Sums over this process and all processes below it. */
  readonly ranks: number;
  readonly leaves: number;
}

/** node2 before node10. */
const kByName = new Intl.Collator("en", { numeric: true });

/** The processes without a known parent, for example the front end, with their children. Children are sorted by host. */
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
  // Programs that send on the run's streams are leaves too.
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

/** The branch of a process; null: unknown. */
export function branchOf(branches: readonly Branch[], id: number): Branch | null {
  for (const branch of branches) {
    const found = branch.node.id === id ? branch : branchOf(branch.children, id);
    if (found !== null) return found;
  }
  return null;
}

/** What is wrong with a process; null: nothing. A process that has left is not in trouble. */
export function troubleOf(node: TreeNode): "lost" | "silent" | null {
  if (node.state === "lost") return "lost";
  return node.silent_ns === null ? null : "silent";
}
