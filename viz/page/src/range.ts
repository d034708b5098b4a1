// Ranges of time or of ranks: zoomed, moved, and marked at round numbers.

export interface Range {
  readonly begin: number;
  readonly end: number;
}

/** The range zoomed by `factor` around `at`; within `bounds`, and not shorter than `least`. */
export function zoomed(range: Range, factor: number, at: number, bounds: Range, least: number): Range {
  const whole = bounds.end - bounds.begin;
  const length = Math.min(whole, Math.max(least, (range.end - range.begin) * factor));
  const share = (at - range.begin) / Math.max(1e-300, range.end - range.begin);
  return within({ begin: at - share * length, end: at - share * length + length }, bounds);
}

/** The range moved by a share of its length; it stops at the bounds. */
export function moved(range: Range, share: number, bounds: Range): Range {
  const by = (range.end - range.begin) * share;
  return within({ begin: range.begin + by, end: range.end + by }, bounds);
}

function within(range: Range, bounds: Range): Range {
  const length = range.end - range.begin;
  const begin = Math.max(bounds.begin, Math.min(range.begin, bounds.end - length));
  return { begin, end: Math.min(bounds.end, begin + length) };
}

/** The smallest step of 1, 2 or 5 times a power of ten that fits at most `most` times into the range. */
export function stepOf(range: Range, maxTicks: number): number {
  const rough = Math.max(1e-300, range.end - range.begin) / Math.max(1, maxTicks);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough * 0.999999)!;
}

/** The round numbers within a range, and their distance. */
export function ticks(range: Range, maxTicks: number): { step: number; at: number[] } {
  if (!(range.end > range.begin)) return { step: 1, at: [] };
  const step = stepOf(range, maxTicks);
  const at: number[] = [];
  for (let number = Math.ceil(range.begin / step); number * step <= range.end; ++number) at.push(number * step);
  return { step, at };
}
