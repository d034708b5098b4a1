// What is selected on the page, as the part of its address after '#':
//
//   #/ranks?world=1&rank=3&begin=1000000&end=2000000&value=wait
//
// so that views link to each other, Back works, and an address can be sent to a colleague.

export interface Place {
  readonly view: string;
  readonly world: number;
  /** The selected rank; null: all. */
  readonly rank: number | null;
  /** The selected time, in ns of the run; both null: the whole run, which grows while it is live. */
  readonly begin: number | null;
  readonly end: number | null;
  /** The view's own settings. */
  readonly own: Readonly<Record<string, string>>;
}

export type Change = Partial<Place>;

const kOurs = new Set(["world", "rank", "begin", "end"]);

/** A whole number; null if the text is none. People may edit addresses. */
function whole(text: string | null): number | null {
  if (text === null || !/^-?\d{1,18}$/.test(text)) return null;
  return Number(text);
}

/** Reads the part after '#'. Invalid parameters are ignored. */
export function parsePlace(hash: string, home: string): Place {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const given = new URLSearchParams(query);
  const own: Record<string, string> = {};
  for (const [name, value] of given) if (!kOurs.has(name)) own[name] = value;
  const begin = whole(given.get("begin"));
  const end = whole(given.get("end"));
  const isRange = begin !== null && end !== null && begin < end;
  const rank = whole(given.get("rank"));
  return {
    view: /^[a-z]+$/.test(path) ? path : home,
    world: Math.max(0, whole(given.get("world")) ?? 0),
    rank: rank !== null && rank >= 0 ? rank : null,
    begin: isRange ? begin : null,
    end: isRange ? end : null,
    own,
  };
}

/** The inverse of parsePlace(). Defaults are left out. */
export function formatPlace(place: Place): string {
  const query = new URLSearchParams();
  if (place.world !== 0) query.set("world", String(place.world));
  if (place.rank !== null) query.set("rank", String(place.rank));
  if (place.begin !== null && place.end !== null) {
    query.set("begin", String(Math.round(place.begin)));
    query.set("end", String(Math.round(place.end)));
  }
  for (const [name, value] of Object.entries(place.own)) query.set(name, value);
  const text = query.toString();
  return `#/${place.view}${text === "" ? "" : `?${text}`}`;
}

/** The place after a change. If the view changes, its own settings are dropped; if the world changes, the rank. */
export function changed(place: Place, change: Change): Place {
  const stays = change.view === undefined || change.view === place.view;
  const otherWorld = change.world !== undefined && change.world !== place.world;
  return {
    ...place,
    ...(stays ? {} : { own: {} }),
    ...(otherWorld ? { rank: null } : {}),
    ...change,
  };
}

/** The time of a place as parameters of a request. */
export function timeOf(place: Place): { begin_ns?: number; end_ns?: number } {
  if (place.begin === null || place.end === null) return {};
  return { begin_ns: Math.round(place.begin), end_ns: Math.round(place.end) };
}
