// The parts of a run that the timeline requests.
//
// A tile is a range of time and ranks. Its size is a power of two, at least twice the visible range, and neighbouring
// tiles overlap by three quarters. So one tile covers the screen with a margin on each side, and a small movement
// needs no new tile. The server pairs messages within one answer. So only one tile is drawn, not several side by
// side.
//
// If a tile has too many calls, the answer has windows or only the longest calls. Then a tight tile, a little larger
// than the screen, is also requested: it may have all single calls.

import type { Bounds, Viewport } from "./viewport.ts";

export interface Tile {
  readonly beginNs: number;
  readonly endNs: number;
  readonly firstRank: number;
  readonly endRank: number;
}

/** For worlds up to this size, a tile has all ranks, so that it has both ends of each message. */
const kWholeWorld = 32;

export function keyOf(tile: Tile): string {
  return `${tile.beginNs}-${tile.endNs}/${tile.firstRank}-${tile.endRank}`;
}

/** The tile that covers a view. It may extend beyond the run's time. */
export function wideTile(view: Viewport, bounds: Bounds): Tile {
  const [beginNs, endNs] = cover(view.beginNs, view.endNs);
  if (bounds.ranks <= kWholeWorld) return { beginNs, endNs, firstRank: 0, endRank: bounds.ranks };
  const [firstRank, endRank] = cover(view.firstRank, view.endRank);
  return { beginNs, endNs, firstRank: Math.max(firstRank, 0), endRank: Math.min(endRank, bounds.ranks) };
}

/** A tile as parameters of a request, cut to the run's time. */
export function questionOf(tile: Tile, bounds: Bounds): Record<string, number> {
  return {
    first_rank: tile.firstRank,
    end_rank: tile.endRank,
    begin_ns: Math.max(tile.beginNs, Math.floor(bounds.beginNs)),
    end_ns: Math.min(tile.endNs, Math.ceil(bounds.endNs)),
  };
}

/** A tile that extends beyond the view by at most an eighth of its time on each side, with whole ranks. */
export function tightTile(view: Viewport, bounds: Bounds): Tile {
  const step = powerOfTwoFrom((view.endNs - view.beginNs) / 16);
  return {
    beginNs: Math.floor(view.beginNs / step) * step,
    endNs: Math.ceil(view.endNs / step) * step,
    firstRank: Math.max(Math.floor(view.firstRank), 0),
    endRank: Math.min(Math.ceil(view.endRank), bounds.ranks),
  };
}

/** The tiles for a movement to the right, to the left, and for zooming out. None if the tile has the whole run. */
export function neighbours(view: Viewport, bounds: Bounds): Tile[] {
  const step = 0.75 * (view.endNs - view.beginNs);
  const tile = wideTile(view, bounds);
  if (tile.beginNs <= bounds.beginNs && tile.endNs >= bounds.endNs) return [];
  const here = keyOf(tile);
  const shifts: Viewport[] = [
    { ...view, beginNs: view.beginNs + step, endNs: view.endNs + step },
    { ...view, beginNs: view.beginNs - step, endNs: view.endNs - step },
    { ...view, beginNs: view.beginNs - step, endNs: view.endNs + step },
  ];
  const found = new Map<string, Tile>();
  for (const shifted of shifts) {
    if (shifted.endNs <= bounds.beginNs || shifted.beginNs >= bounds.endNs) continue;
    const tile = wideTile(shifted, bounds);
    const isInside = tile.beginNs < bounds.endNs && tile.endNs > bounds.beginNs;
    if (isInside && keyOf(tile) !== here) found.set(keyOf(tile), tile);
  }
  return [...found.values()];
}

export function covers(tile: Tile, view: Viewport, bounds: Bounds): boolean {
  return (
    tile.beginNs <= Math.max(view.beginNs, bounds.beginNs) &&
    tile.endNs >= Math.min(view.endNs, bounds.endNs) &&
    tile.firstRank <= view.firstRank &&
    tile.endRank >= Math.min(view.endRank, bounds.ranks)
  );
}

function cover(begin: number, end: number): [number, number] {
  const size = Math.max(powerOfTwoFrom(2 * (end - begin)), 4);
  const step = size / 4;
  const start = Math.round(((begin + end) / 2 - size / 2) / step) * step;
  return [start, start + size];
}

/** The smallest power of two that is at least `value`; at least 1. */
function powerOfTwoFrom(value: number): number {
  let power = 1;
  while (power < value) power *= 2;
  return power;
}
