// The longest calls of what is shown, of all its ranks or of the one that is chosen. What the scene has is
// enough where it has all calls, or ten of them; else the server is asked for just these ranks and this time.

import type { Timeline } from "../answers.ts";
import type { Parameters } from "../api.ts";
import { longestOf } from "./lanes.ts";
import { listed, listedOfWindow, type Listed } from "./panel.ts";
import type { Scene } from "./scene.ts";
import type { Viewport } from "./viewport.ts";

export const kLongest = 10;

export interface Found {
  readonly calls: readonly Listed[];
  /** There are no longer ones that the answer does not have. */
  readonly isAll: boolean;
}

/** The ranks whose calls are listed: the one that is chosen, or those that are seen, in part or whole. */
export function ranksOf(view: Viewport, rank: number | null): readonly [first: number, end: number] {
  return rank === null ? [Math.floor(view.firstRank), Math.ceil(view.endRank)] : [rank, rank + 1];
}

/** Those of an answer that meet the view's time and ranks. */
export function longestIn(answer: Timeline, isComplete: boolean, view: Viewport, rank: number | null): Found {
  const [first, end] = ranksOf(view, rank);
  if (answer.detail === "calls") {
    const calls = longestOf(answer.calls, view.beginNs, view.endNs, first, end, kLongest).map(listed);
    return { calls, isAll: isComplete || calls.length === kLongest };
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

  /** There may be more by now. */
  forget(): void {
    this.asked = "";
  }

  /** What was asked and has no answer, for the asking has failed, is asked again when there is more to tell. */
  retry(): void {
    if (this.answer === null) this.asked = "";
  }

  /** `isWaiting`: a better scene is on its way; nothing is asked until it is there. */
  tell(scene: Scene, view: Viewport, rank: number | null, isWaiting: boolean): void {
    const here = longestIn(scene.answer, scene.isComplete, view, rank);
    if (here.isAll || isWaiting) return this.show(here.calls, rank);
    const [first_rank, end_rank] = ranksOf(view, rank);
    const question = { first_rank, end_rank, begin_ns: Math.floor(view.beginNs), end_ns: Math.ceil(view.endNs) };
    const key = JSON.stringify(question);
    if (key === this.asked) return this.show(this.answer ?? here.calls, rank);
    this.asked = key;
    this.answer = null;
    this.show(here.calls, rank);
    // One cell and one call: the list is what is asked for.
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
