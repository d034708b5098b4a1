// The questions of the view that is mounted: one a slot, the newest; and how long they take, so that
// a live page asks no more often than the server can well answer.

import type { Answers } from "./answers.ts";
import { ask, type Parameters } from "./api.ts";

/** What becomes of loads, for the frame. */
export interface LoadsOwner {
  failed(error: Error): void;
  /** No question is open any more, and none of them failed. */
  settled(): void;
}

export class Loads {
  private readonly open = new Map<string, AbortController>();
  private hasFailed = false;
  private began = 0;
  /** Of the last round, from its first question to its last answer, in ms. */
  tookMs = 0;

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

  /** Ends all of them; nothing is shown of them any more. */
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
        this.tookMs = performance.now() - this.began;
        if (!this.isBusy && !this.hasFailed) this.owner.settled();
      }
    }
  }
}
