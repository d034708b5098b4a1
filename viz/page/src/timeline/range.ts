// A viewport in the page's address. All views share its time; its ranks are a setting of the timeline.

import type { Change, Place } from "../place.ts";
import { clamp, type Bounds, type Viewport } from "./viewport.ts";

/** Maximum number of rows at first, so that names and calls can be read. */
export const kRowsAtFirst = 64;
/** Number of rows around a rank that another view has selected, in a larger world. */
const kRowsAround = 16;

/** The viewport of an address, within the bounds. */
export function viewportOf(place: Place, bounds: Bounds): Viewport {
  const { begin, end, rank, own } = place;
  const given = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(own.ranks ?? "");
  let firstRank = 0;
  let endRank = Math.min(bounds.ranks, kRowsAtFirst);
  if (given !== null && Number(given[1]) < Number(given[2])) {
    [firstRank, endRank] = [Number(given[1]), Number(given[2])];
  } else if (rank !== null && bounds.ranks > kRowsAround) {
    [firstRank, endRank] = [rank + 0.5 - kRowsAround / 2, rank + 0.5 + kRowsAround / 2];
  }
  return clamp({ beginNs: begin ?? bounds.beginNs, endNs: end ?? bounds.endNs, firstRank, endRank }, bounds);
}

/** The change of the place for a viewport. If the viewport has the whole time, the place has no time. */
export function changeOf(view: Viewport, bounds: Bounds, place: Place): Change {
  const isWhole = view.beginNs <= bounds.beginNs && view.endNs >= bounds.endNs;
  const isAll = view.firstRank <= 0 && view.endRank >= Math.min(bounds.ranks, kRowsAtFirst) &&
    bounds.ranks <= kRowsAtFirst;
  const { ranks: _ranks, ...own } = place.own;
  return {
    begin: isWhole ? null : Math.round(view.beginNs),
    end: isWhole ? null : Math.round(view.endNs),
    own: isAll ? own : { ...own, ranks: `${view.firstRank.toFixed(2)}-${view.endRank.toFixed(2)}` },
  };
}

/** The parts of a place that the timeline shows. Places with the same key look the same. */
export function keyOfPlace(place: Place): string {
  return JSON.stringify([place.world, place.begin, place.end, place.rank, place.own.ranks ?? ""]);
}
