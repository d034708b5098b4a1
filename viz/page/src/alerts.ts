// Alerts in words, and the place on the timeline that shows an alert.

import type { Alert, Scope } from "./answers.ts";
import { count, duration, percent, plural } from "./format.ts";
import type { Change } from "./place.ts";

/** Share of the alert's length that is shown before and after it. */
const kAround = 0.25;
/** An alert that is shorter than a second is shown as if it lasted a second. */
const kLeastNs = 1e9;

/** A value or threshold with the unit of its kind. */
export function amountOf(kind: string, value: number): string {
  if (kind === "stalled") return duration(1e9 * value);
  if (kind === "imbalance" || kind === "late") return percent(value);
  if (kind === "loss") return plural(value, "call");
  if (kind === "oversubscribed") return `${Number(value.toFixed(2))} per core`;
  return count(value);
}

/** The worst value as text; a loss without a count is "not known". */
export function worstOf(alert: Alert): string {
  return alert.kind === "loss" && alert.value === 0 ? "not known" : amountOf(alert.kind, alert.value);
}

/** Length of the alert in ns; an open alert lasts until the end of the run so far. */
export function lengthOf(alert: Alert, scope: Scope): number {
  return Math.max((alert.until_ns ?? scope.run_end_ns) - alert.at_ns, 0);
}

/** The place on the timeline: the alert's rank, and its time with a margin before and after. */
export function placeOf(alert: Alert, scope: Scope): Change {
  const length = Math.max(lengthOf(alert, scope), kLeastNs);
  const begin = Math.max(alert.at_ns - kAround * length, scope.run_begin_ns);
  const end = Math.min(alert.at_ns + (1 + kAround) * length, Math.max(scope.run_end_ns, begin + 1));
  return { view: "timeline", world: alert.world ?? 0, rank: alert.rank, begin: Math.round(begin), end: Math.round(end) };
}
