// The positions of processes in the drawing of an overlay: one line for each level, the front end at the top,
// children below their parent. Leaves are side by side and equally wide, so any number of leaves fits.

import type { TreeNode } from "../answers.ts";
import type { Branch } from "./branches.ts";

export interface Spot {
  readonly node: TreeNode;
  /** Position of its middle, from 0 (left) to 1. */
  readonly x: number;
  /** Number of its line, from 0. */
  readonly line: number;
  /** Width of its part of the drawing, from 0 to 1. */
  readonly width: number;
  readonly parent: Spot | null;
}

/** The positions of all processes. Parents come before their children. */
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

/** The nearest process on a line; null: the line has none. */
export function nearest(spots: readonly Spot[], x: number, line: number): Spot | null {
  let best: Spot | null = null;
  for (const spot of spots) {
    if (spot.line === line && (best === null || Math.abs(spot.x - x) < Math.abs(best.x - x))) best = spot;
  }
  return best;
}
