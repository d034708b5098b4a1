// The open requests of the mounted view, at most one for each slot. Also measures how long they take, because a live
// page waits longer after slow answers (pace.ts).

import type { Answers } from "./answers.ts";
import { ask, type Parameters } from "./api.ts";

/** Receives the outcome of the requests. */
export interface LoadsOwner {
  failed(error: Error): void;
  /** No request is open any more, and none of this round has failed. */
  settled(): void;
}

export class Loads {
  private readonly open = new Map<string, AbortController>();
  private hasFailed = false;
  private began = 0;
  /** Length of the last round in ms, from its first request to its last answer. */
  tookMs = 0;
  /** Time of the last answer, on the clock of performance.now(). */
  endedMs = 0;

  constructor(private readonly owner: LoadsOwner) {}

  get isBusy(): boolean {
    return this.open.size > 0;
  }

  load<Name extends keyof Answers>(
      slot: string, name: Name, parameters: Parameters, show: (answer: Answers[Name]) => void,
      failed: ((message: string) => void) | undefined): void {
    this.open.get(slot)?.abort();
    if (!this.isBusy) {
      this.began = performance.now();
      this.hasFailed = false;
    }
    const control = new AbortController();
    this.open.set(slot, control);
    void this.run(slot, control, ask(name, parameters, control.signal), show, failed);
  }

  /** Cancels all requests. Their answers are not shown. */
  abort(): void {
    for (const control of this.open.values()) control.abort();
    this.open.clear();
  }

  private async run<Answer>(
      slot: string, control: AbortController, asked: Promise<Answer>, show: (answer: Answer) => void,
      failed: ((message: string) => void) | undefined): Promise<void> {
    try {
      const answer = await asked;
      if (!control.signal.aborted) show(answer);
    } catch (why) {
      if (control.signal.aborted) return;
      const error = why instanceof Error ? why : new Error(String(why));
      if (failed !== undefined) {
        failed(error.message);
      } else {
        this.hasFailed = true;
        this.owner.failed(error);
      }
    } finally {
      if (this.open.get(slot) === control) {
        this.open.delete(slot);
        this.endedMs = performance.now();
        this.tookMs = this.endedMs - this.began;
        if (!this.isBusy && !this.hasFailed) this.owner.settled();
      }
    }
  }
}
