// Where the processes of an overlay are drawn: a line a level, the front end above, children below their
// parent, leaves side by side and equally wide. Any number of leaves fits: they become narrow.

import type { TreeNode } from "../answers.ts";
import type { Branch } from "./branches.ts";

export interface Spot {
  readonly node: TreeNode;
  /** Of its middle, 0 to 1 across. */
  readonly x: number;
  /** The line it is on, from 0. */
  readonly line: number;
  /** 0 to 1: what belongs to it and those below it. */
  readonly width: number;
  readonly parent: Spot | null;
}

/** Parents before their children. */
export function spotsOf(roots: readonly Branch[]): Spot[] {
  const widths = new Map<Branch, number>();
  const measure = (branch: Branch): number => {
    const width = Math.max(branch.children.reduce((sum, child) => sum + measure(child), 0), 1);
    widths.set(branch, width);
    return width;
  };
  const all = Math.max(roots.reduce((sum, root) => sum + measure(root), 0), 1);
  const spots: Spot[] = [];
  const place = (branch: Branch, from: number, parent: Spot | null): void => {
    const width = widths.get(branch)! / all;
    const spot = { node: branch.node, x: from + width / 2, line: parent === null ? 0 : parent.line + 1, width, parent };
    spots.push(spot);
    let at = from;
    for (const child of branch.children) {
      place(child, at, spot);
      at += widths.get(child)! / all;
    }
  };
  let at = 0;
  for (const root of roots) {
    place(root, at, null);
    at += widths.get(root)! / all;
  }
  return spots;
}

/** The nearest spot of a line, or null where the line has none. */
export function nearest(spots: readonly Spot[], x: number, line: number): Spot | null {
  let best: Spot | null = null;
  for (const spot of spots) {
    if (spot.line === line && (best === null || Math.abs(spot.x - x) < Math.abs(best.x - x))) best = spot;
  }
  return best;
}
