// When a live page sends requests again. Commits are reported up to four times a second, but a view of a large store
// may need half a second of CPU time. So after a slow round the page waits longer.

/** People do not read faster than twice a second. */
const kMinMs = 500;
/** The page keeps the server busy for at most a sixth of the time, if a round takes at most 6 s. */
const kPauses = 5;
const kMaxMs = 30_000;

/** The next round may begin this long after the end of a round that took `tookMs`. */
export function pauseAfter(tookMs: number): number {
  return Math.min(kMaxMs, Math.max(kMinMs, kPauses * tookMs));
}

/** How long to wait before the n-th try, counted from 0, to reach the server. */
export function retryAfter(tries: number): number {
  return Math.min(8_000, 500 * 2 ** Math.min(tries, 10));
}
