// What part of a run the timeline shows: times across, ranks down, scrolled and zoomed as a map.
//
// All functions take a viewport and give a new one that lies within the bounds. Times are
// nanoseconds of the run (whole or not; exact up to 2^53, 104 days), ranks are fractions of rows, so
// that a drag moves smoothly.

export interface Viewport {
  readonly beginNs: number;
  readonly endNs: number;
  readonly firstRank: number;
  readonly endRank: number;
}

/** What there is to be shown: the run's time and its ranks [0, ranks). */
export interface Bounds {
  readonly beginNs: number;
  readonly endNs: number;
  readonly ranks: number;
}

/** The shortest time that is shown: calls of ten nanoseconds are wide enough to be hit. */
export const kShortestNs = 200;
/** The fewest ranks that are shown. */
export const kFewestRanks = 1;

/** All there is. Without a rank or a time yet it is one of each, so that nothing divides by 0. */
export function wholeOf(bounds: Bounds): Viewport {
  return clamp({ beginNs: bounds.beginNs, endNs: bounds.endNs, firstRank: 0, endRank: bounds.ranks }, bounds);
}

/** Moves a viewport into the bounds, keeping its size where it fits. */
export function clamp(view: Viewport, bounds: Bounds): Viewport {
  const time = fit(view.beginNs, view.endNs, bounds.beginNs, bounds.endNs, kShortestNs);
  const ranks = fit(view.firstRank, view.endRank, 0, bounds.ranks, kFewestRanks);
  return { beginNs: time[0], endNs: time[1], firstRank: ranks[0], endRank: ranks[1] };
}

/** Moves it by parts of its own width and height: 0.5 is half a screen to the right, or down. */
export function pan(view: Viewport, bounds: Bounds, across: number, down: number): Viewport {
  const time = across * (view.endNs - view.beginNs);
  const ranks = down * (view.endRank - view.firstRank);
  return clamp(
    {
      beginNs: view.beginNs + time,
      endNs: view.endNs + time,
      firstRank: view.firstRank + ranks,
      endRank: view.endRank + ranks,
    },
    bounds,
  );
}

/**
 * Zooms the time around a point of the screen, which stays where it is: `at` is 0 at the left edge,
 * 1 at the right one. A factor of 0.5 shows half the time. Where a bound or the shortest time stops
 * the zoom, the point still stays where it can.
 */
export function zoomTime(view: Viewport, bounds: Bounds, factor: number, at: number): Viewport {
  const [beginNs, endNs] = zoom(view.beginNs, view.endNs, factor, at, kShortestNs, bounds.endNs - bounds.beginNs);
  return clamp({ ...view, beginNs, endNs }, bounds);
}

/** As zoomTime, for the ranks: `at` is 0 at the top. */
export function zoomRanks(view: Viewport, bounds: Bounds, factor: number, at: number): Viewport {
  const [firstRank, endRank] = zoom(view.firstRank, view.endRank, factor, at, kFewestRanks, bounds.ranks);
  return clamp({ ...view, firstRank, endRank }, bounds);
}

/** Shows a piece of time with as much again on both sides; ranks move only when it must be. */
export function showCall(view: Viewport, bounds: Bounds, rank: number, beginNs: number, endNs: number): Viewport {
  const length = Math.max(endNs - beginNs, kShortestNs / 3);
  const middle = (beginNs + endNs) / 2;
  const shown = { ...view, beginNs: middle - 1.5 * length, endNs: middle + 1.5 * length };
  if (rank < view.firstRank || rank + 1 > view.endRank) {
    const height = view.endRank - view.firstRank;
    const first = rank + 0.5 - height / 2;
    return clamp({ ...shown, firstRank: first, endRank: first + height }, bounds);
  }
  return clamp(shown, bounds);
}

/** Where a time is on the screen, `width` wide. */
export function timeToX(view: Viewport, ns: number, width: number): number {
  return ((ns - view.beginNs) / (view.endNs - view.beginNs)) * width;
}

export function xToTime(view: Viewport, x: number, width: number): number {
  return view.beginNs + (x / width) * (view.endNs - view.beginNs);
}

/** Where the upper edge of a rank's row is on the screen, `height` high. */
export function rankToY(view: Viewport, rank: number, height: number): number {
  return ((rank - view.firstRank) / (view.endRank - view.firstRank)) * height;
}

export function yToRank(view: Viewport, y: number, height: number): number {
  return view.firstRank + (y / height) * (view.endRank - view.firstRank);
}

function fit(begin: number, end: number, least: number, most: number, shortest: number): [number, number] {
  const room = Math.max(most - least, shortest);
  const size = Math.min(Math.max(end - begin, shortest), room);
  const start = Math.min(Math.max(begin, least), least + room - size);
  return [start, start + size];
}

function zoom(
  begin: number,
  end: number,
  factor: number,
  at: number,
  shortest: number,
  longest: number,
): [number, number] {
  const size = end - begin;
  const wanted = Math.min(Math.max(size * factor, shortest), Math.max(longest, shortest));
  const start = begin + at * (size - wanted);
  return [start, start + wanted];
}
