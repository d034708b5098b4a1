// The longest calls of the visible part, for all its ranks or for the selected rank. If the scene has all calls, or
// ten of the range, they are taken from the scene. Otherwise the server is asked for these ranks and this time.

import type { Timeline } from "../answers.ts";
import type { Parameters } from "../api.ts";
import { longestOf } from "./lanes.ts";
import { listed, listedOfWindow, type Listed } from "./panel.ts";
import type { Scene } from "./scene.ts";
import type { Viewport } from "./viewport.ts";

export const kLongest = 10;

export interface Found {
  readonly calls: readonly Listed[];
  /** The answer has all of the longest calls. */
  readonly isAll: boolean;
}

/** The ranks whose calls are listed: the selected rank, or all ranks that are at least partly visible. */
export function ranksOf(view: Viewport, rank: number | null): readonly [first: number, end: number] {
  return rank === null ? [Math.floor(view.firstRank), Math.ceil(view.endRank)] : [rank, rank + 1];
}

/** The longest calls of an answer in the view's time and ranks. */
export function longestIn(answer: Timeline, view: Viewport, rank: number | null): Found {
  const [first, end] = ranksOf(view, rank);
  if (answer.detail === "calls") {
    const calls = longestOf(answer.calls, view.beginNs, view.endNs, first, end, kLongest).map(listed);
    return { calls, isAll: true };
  }
  const calls = answer.longest.filter((call) => call.end_ns > view.beginNs && call.begin_ns < view.endNs &&
    call.rank >= first && call.rank < end).map(listedOfWindow);
  return { calls, isAll: calls.length === kLongest || answer.longest.length < kLongest };
}

export interface LongestOwner {
  ask(parameters: Parameters, show: (answer: Timeline) => void): void;
  show(calls: readonly Listed[], note: string): void;
}

export class Longest {
  private asked = "";
  private answer: readonly Listed[] | null = null;

  constructor(private readonly owner: LongestOwner) {}

  /** Sends the next request even if it is the same, because there may be new calls. */
  forget(): void {
    this.asked = "";
  }

  /** Sends the next request even if it is the same, if the last one has no answer. */
  retry(): void {
    if (this.answer === null) this.asked = "";
  }

  /** Shows the list. `isWaiting`: a better scene is loading; no request is sent until it has arrived. */
  tell(scene: Scene, view: Viewport, rank: number | null, isWaiting: boolean): void {
    const here = longestIn(scene.answer, view, rank);
    if (here.isAll || isWaiting) return this.show(here.calls, rank);
    const [first_rank, end_rank] = ranksOf(view, rank);
    const question = { first_rank, end_rank, begin_ns: Math.floor(view.beginNs), end_ns: Math.ceil(view.endNs) };
    const key = JSON.stringify(question);
    if (key === this.asked) return this.show(this.answer ?? here.calls, rank);
    this.asked = key;
    this.answer = null;
    this.show(here.calls, rank);
    // One cell and one call: only the list of the longest calls is needed.
    this.owner.ask({ ...question, columns: 1, rows: 1, most: 1 }, (answer) => {
      this.answer = answer.longest.map(listedOfWindow);
      this.show(this.answer, rank);
    });
  }

  private show(calls: readonly Listed[], rank: number | null): void {
    const isExact = calls.every((call) => call.endNs - call.beginNs === call.durationNs);
    this.owner.show(calls, [
      rank === null ? "" : `Of rank ${rank}; Esc shows those of all ranks.`,
      isExact ? "" : "Each is somewhere in a window; the button shows that window."].join(" ").trim());
  }
}
