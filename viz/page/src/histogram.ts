// The log-histograms of the API: how many calls took less than `below_ns`, and at least half of it.

import { count, duration, percent } from "./format.ts";

export interface Bucket {
  readonly below_ns: number;
  readonly calls: number;
}

/** All classes from the first to the last one with calls, including empty classes between them. */
export function classesOf(buckets: readonly Bucket[]): { share: number; what: string }[] {
  const calls = new Map(buckets.map((bucket) => [bucket.below_ns, bucket.calls]));
  const bounds = [...calls.keys()].sort((a, b) => a - b);
  const all = buckets.reduce((sum, bucket) => sum + bucket.calls, 0);
  const classes: { share: number; what: string }[] = [];
  for (let below = bounds[0] ?? Infinity; below <= bounds.at(-1)!; below *= 2) {
    const number = calls.get(below) ?? 0;
    classes.push({
      share: number / Math.max(1, all),
      what: `${duration(below / 2)} to ${duration(below)}: ${count(number)} calls, ${percent(number / Math.max(1, all))}`,
    });
  }
  return classes;
}

/** A bound below which at least this share of the calls is: the upper bound of a class. */
export function quantile(buckets: readonly Bucket[], share: number): number {
  const sorted = [...buckets].sort((a, b) => a.below_ns - b.below_ns);
  const wanted = share * sorted.reduce((sum, bucket) => sum + bucket.calls, 0);
  let below = 0;
  for (const bucket of sorted) {
    below += bucket.calls;
    if (below >= wanted) return bucket.below_ns;
  }
  return sorted.at(-1)?.below_ns ?? 0;
}
