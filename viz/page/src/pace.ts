// When a live page asks again. News comes four times a second; a view over a large store may take the
// server half a second of a core. So the pause after a round is the longer, the longer the round took.

/** Twice a second is as quick as people read. */
const kMinMs = 500;
/** The page keeps the server busy a sixth of the time at most. */
const kPauses = 5;
const kMaxMs = 30_000;

/** How long after the end of a round that took so long the next one may begin. */
export function pauseAfter(tookMs: number): number {
  return Math.min(kMaxMs, Math.max(kMinMs, kPauses * tookMs));
}

/** How long to wait before the n-th try, from 0, to reach a server that is gone. */
export function retryAfter(tries: number): number {
  return Math.min(8_000, 500 * 2 ** Math.min(tries, 10));
}
