// What the rules over windows have found, in words, and the place on the timeline where it can be seen.

import type { Alert, Scope } from "./answers.ts";
import { count, duration, percent, plural } from "./format.ts";
import type { Change } from "./place.ts";

/** As much of the run before and after, so that what led to it is seen. */
const kAround = 0.25;
/** An alert of a moment is shown with a second. */
const kLeastNs = 1e9;

/** A value or threshold with the unit of its kind. */
export function amountOf(kind: string, value: number): string {
  if (kind === "stalled") return duration(1e9 * value);
  if (kind === "imbalance" || kind === "late") return percent(value);
  if (kind === "loss") return plural(value, "call");
  return count(value);
}

/** How bad it was: of a loss without a count nobody knows. */
export function worstOf(alert: Alert): string {
  return alert.kind === "loss" && alert.value === 0 ? "not known" : amountOf(alert.kind, alert.value);
}

/** How long it has been so, or was. */
export function lengthOf(alert: Alert, scope: Scope): number {
  return Math.max((alert.until_ns ?? scope.run_end_ns) - alert.at_ns, 0);
}

/** Where the timeline shows it: its time with some before and after, and its rank. */
export function placeOf(alert: Alert, scope: Scope): Change {
  const length = Math.max(lengthOf(alert, scope), kLeastNs);
  const begin = Math.max(alert.at_ns - kAround * length, scope.run_begin_ns);
  const end = Math.min(alert.at_ns + (1 + kAround) * length, Math.max(scope.run_end_ns, begin + 1));
  return { view: "timeline", world: alert.world ?? 0, rank: alert.rank, begin: Math.round(begin), end: Math.round(end) };
}
