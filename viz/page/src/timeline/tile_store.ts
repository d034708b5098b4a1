// The answers that are kept, and the two questions that may be open: one for what is on the screen, one
// for what the next step may bring there.
//
// want() is called at each step; a question whose tile is not wanted any more gives way to a newer one.
// The answers that were not used for longest are forgotten. A live run's answers grow old: renew() marks
// them, and they are drawn until the new ones are there.

import { keyOf, type Tile } from "./tiles.ts";

/** About a megabyte each when they are full of calls. */
export const kMaxKept = 24;

export type Slot = "now" | "ahead";

export interface Kept<Answer> {
  readonly tile: Tile;
  readonly answer: Answer;
  /** There may be more by now. */
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
   * `load` asks for a tile and ends what is open under the same slot; it calls `show` with the answer,
   * or never. `answered` is called after each answer.
   */
  constructor(
    private readonly load: (slot: Slot, tile: Tile, show: (answer: Answer) => void) => void,
    private readonly answered: () => void,
  ) {}

  /** What is needed now, most urgent first, and what may be needed next; replaces what was wanted before. */
  want(now: readonly Tile[], ahead: readonly Tile[]): void {
    this.now = now;
    this.ahead = ahead;
    const isNowComplete = this.ask("now", now);
    if (isNowComplete) this.ask("ahead", ahead);
  }

  /** The answer of a tile, new or old. Counts as a use. */
  find(tile: Tile): Kept<Answer> | undefined {
    const key = keyOf(tile);
    const entry = this.kept.get(key);
    if (entry === undefined) return undefined;
    this.kept.delete(key);
    this.kept.set(key, entry);
    return entry;
  }

  /** All answers, those that were used last first. */
  all(): readonly Kept<Answer>[] {
    return [...this.kept.values()].reverse();
  }

  /**
   * There may be more now, or questions have failed: what `isTouched` is asked for again when it is
   * wanted, and what is open is no longer waited for.
   */
  renew(isTouched: (tile: Tile) => boolean): void {
    for (const entry of this.kept.values()) entry.isOld ||= isTouched(entry.tile);
    this.open.clear();
    this.want(this.now, this.ahead);
  }

  /** Forgets all: another world, say. What is still open is not shown. */
  clear(): void {
    this.kept.clear();
    this.open.clear();
    this.now = [];
    this.ahead = [];
  }

  /** Whether something that is wanted now is not there yet. */
  get isWaiting(): boolean {
    return this.open.has("now");
  }

  /** True when all of them are there and fresh. */
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
