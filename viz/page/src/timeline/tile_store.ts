// The cached answers, and at most two open requests: one for the visible part, one for a part that may be visible
// next.
//
// want() is called after each movement. A request for a tile that is no longer wanted is replaced by a newer one. The
// least recently used answers are dropped. In a live run answers become old: renew() marks them, and they are drawn
// until new answers arrive.

import { keyOf, type Tile } from "./tiles.ts";

/** Maximum number of cached answers. An answer with many calls needs about a megabyte. */
export const kMaxKept = 24;

export type Slot = "now" | "ahead";

export interface Kept<Answer> {
  readonly tile: Tile;
  readonly answer: Answer;
  /** The answer may be incomplete, because the run has continued. */
  readonly isOld: boolean;
}

interface Entry<Answer> extends Kept<Answer> {
  isOld: boolean;  // Here it changes.
}

export class TileStore<Answer> {
  /** Oldest use first. */
  private readonly kept = new Map<string, Entry<Answer>>();
  private readonly open = new Map<Slot, string>();
  private now: readonly Tile[] = [];
  private ahead: readonly Tile[] = [];

  /**
   * `load` requests a tile, and cancels the open request of the same slot. It calls `show` with the answer; after a
   * failure it does not call `show`. `answered` is called after each answer.
   */
  constructor(
    private readonly load: (slot: Slot, tile: Tile, show: (answer: Answer) => void) => void,
    private readonly answered: () => void,
  ) {}

  /** Sets the tiles that are needed now, most urgent first, and the tiles that may be needed next. */
  want(now: readonly Tile[], ahead: readonly Tile[]): void {
    this.now = now;
    this.ahead = ahead;
    const isNowComplete = this.ask("now", now);
    if (isNowComplete) this.ask("ahead", ahead);
  }

  /** The cached answer for a tile, new or old. Marks it as used. */
  find(tile: Tile): Kept<Answer> | undefined {
    const key = keyOf(tile);
    const entry = this.kept.get(key);
    if (entry === undefined) return undefined;
    this.kept.delete(key);
    this.kept.set(key, entry);
    return entry;
  }

  /** All cached answers, most recently used first. */
  all(): readonly Kept<Answer>[] {
    return [...this.kept.values()].reverse();
  }

  /**
   * Marks the answers for which `isTouched` returns true as old, and requests the wanted tiles again. Ignores the
   * answers of open requests. Call it if the run has new data, or if requests may have failed.
   */
  renew(isTouched: (tile: Tile, answer: Answer) => boolean): void {
    for (const entry of this.kept.values()) entry.isOld ||= isTouched(entry.tile, entry.answer);
    this.open.clear();
    this.want(this.now, this.ahead);
  }

  /** Drops all answers, for example because the world changes. Answers of open requests are ignored. */
  clear(): void {
    this.kept.clear();
    this.open.clear();
    this.now = [];
    this.ahead = [];
  }

  /** Whether a tile that is needed now is still loading. */
  get isWaiting(): boolean {
    return this.open.has("now");
  }

  /** Requests the first missing or old tile. Returns true if there is none. */
  private ask(slot: Slot, tiles: readonly Tile[]): boolean {
    const missing = tiles.find((tile) => this.kept.get(keyOf(tile))?.isOld ?? true);
    if (missing === undefined) return true;
    const key = keyOf(missing);
    if (this.open.get(slot) === key) return false;
    this.open.set(slot, key);
    this.load(slot, missing, (answer) => {
      if (this.open.get(slot) !== key) return;
      this.open.delete(slot);
      this.keep(key, { tile: missing, answer, isOld: false });
      this.answered();
      this.want(this.now, this.ahead);
    });
    return false;
  }

  private keep(key: string, entry: Entry<Answer>): void {
    this.kept.delete(key);
    this.kept.set(key, entry);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= kMaxKept) break;
      this.kept.delete(oldest);
    }
  }
}
