// The visible part of a run on the timeline: time from left to right, ranks from top to bottom.
//
// The functions that change a viewport return a new one within the bounds. Times are nanoseconds of the run (whole or
// not; exact up to 2^53, 104 days), ranks are fractions of rows, so that a drag moves smoothly.

export interface Viewport {
  readonly beginNs: number;
  readonly endNs: number;
  readonly firstRank: number;
  readonly endRank: number;
}

/** The limits of a viewport: the run's time and its ranks [0, ranks). */
export interface Bounds {
  readonly beginNs: number;
  readonly endNs: number;
  readonly ranks: number;
}

/** Minimum length of the visible time: users can then point at calls of ten nanoseconds. */
export const kShortestNs = 200;
/** Minimum number of visible ranks. */
export const kFewestRanks = 1;

/** The whole run. It is never empty, even if the run has no rank or no time yet, so that nothing is divided by 0. */
export function wholeOf(bounds: Bounds): Viewport {
  return clamp({ beginNs: bounds.beginNs, endNs: bounds.endNs, firstRank: 0, endRank: bounds.ranks }, bounds);
}

/** Moves a viewport into the bounds. Keeps its size if it fits. */
export function clamp(view: Viewport, bounds: Bounds): Viewport {
  const time = fit(view.beginNs, view.endNs, bounds.beginNs, bounds.endNs, kShortestNs);
  const ranks = fit(view.firstRank, view.endRank, 0, bounds.ranks, kFewestRanks);
  return { beginNs: time[0], endNs: time[1], firstRank: ranks[0], endRank: ranks[1] };
}

/** Moves a viewport by parts of its own width and height: 0.5 is half a screen to the right, or down. */
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
 * Zooms the time around a point of the screen, which stays where it is: `at` is 0 at the left edge, 1 at the right
 * one. A factor of 0.5 shows half the time. If a bound or the minimum length stops the zoom, the point stays where it
 * is if possible.
 */
export function zoomTime(view: Viewport, bounds: Bounds, factor: number, at: number): Viewport {
  const [beginNs, endNs] = zoom(view.beginNs, view.endNs, factor, at, kShortestNs, bounds.endNs - bounds.beginNs);
  return clamp({ ...view, beginNs, endNs }, bounds);
}

/** Like zoomTime(), for the ranks: `at` is 0 at the top. */
export function zoomRanks(view: Viewport, bounds: Bounds, factor: number, at: number): Viewport {
  const [firstRank, endRank] = zoom(view.firstRank, view.endRank, factor, at, kFewestRanks, bounds.ranks);
  return clamp({ ...view, firstRank, endRank }, bounds);
}

/** Shows a call with its own length before and after it. Moves the ranks only if its rank is not fully visible. */
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

/**
 * Shows a call with its surroundings: the visible time keeps its length if the call is then neither wider than a third
 * of the screen nor very thin. Moves the ranks as showCall() does.
 */
export function showNear(view: Viewport, bounds: Bounds, rank: number, beginNs: number, endNs: number): Viewport {
  const length = Math.max(endNs - beginNs, kShortestNs / 3);
  const shown = Math.min(Math.max(view.endNs - view.beginNs, 3 * length), 200 * length);
  const middle = (beginNs + endNs) / 2;
  const around = showCall(view, bounds, rank, beginNs, endNs);
  return clamp({ ...around, beginNs: middle - shown / 2, endNs: middle + shown / 2 }, bounds);
}

/** The position of a time on a screen of this width. */
export function timeToX(view: Viewport, ns: number, width: number): number {
  return ((ns - view.beginNs) / (view.endNs - view.beginNs)) * width;
}

export function xToTime(view: Viewport, x: number, width: number): number {
  return view.beginNs + (x / width) * (view.endNs - view.beginNs);
}

/** The position of the upper edge of a rank's row on a screen of this height. */
export function rankToY(view: Viewport, rank: number, height: number): number {
  return ((rank - view.firstRank) / (view.endRank - view.firstRank)) * height;
}

export function yToRank(view: Viewport, y: number, height: number): number {
  return view.firstRank + (y / height) * (view.endRank - view.firstRank);
}

function fit(begin: number, end: number, min: number, max: number, shortest: number): [number, number] {
  const room = Math.max(max - min, shortest);
  const size = Math.min(Math.max(end - begin, shortest), room);
  const start = Math.min(Math.max(begin, min), min + room - size);
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
