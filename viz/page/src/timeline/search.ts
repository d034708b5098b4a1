// Search for calls on the timeline: what users type, and the calls that the server has found.
//
//   MPI_Send peer=3 tag=7 comm=0 rank=1
//
// The server answers with a limited number of calls. Further ones are requested when the user steps beyond the first
// or the last of those found so far. No call between the first and the last one is left out.

import type { Call, Search } from "../answers.ts";
import type { Parameters } from "../api.ts";
import { count, moment } from "../format.ts";

/** Maximum number of calls in one answer. */
const kMaxCalls = 200;
/** A search that finds nothing in so many answers waits for the user to go on. */
const kMaxAnswers = 20;

/** The parameters of a request for what the user has typed, or a sentence that says what is wrong. */
export function questionOfText(text: string): Parameters | string {
  const question: Record<string, number | string> = {};
  for (const word of text.trim().split(/\s+/)) {
    if (word === "") continue;
    const [, name, value] = /^(peer|tag|comm|rank)=(-?\d{1,15})$/i.exec(word) ?? [];
    if (name === undefined || value === undefined) {
      if (/[^A-Za-z0-9_]/.test(word) || question.function !== undefined) {
        return `“${word}” is not understood. Type, for example: MPI_Send peer=3 tag=7 comm=0 rank=1`;
      }
      question.function = word;
    } else if (name.toLowerCase() === "rank") {
      [question.first_rank, question.end_rank] = [Number(value), Number(value) + 1];
    } else {
      question[name.toLowerCase()] = Number(value);
    }
  }
  if (Object.keys(question).length === 0) return "Type a function, or a peer, tag, communicator or rank.";
  return question;
}

export interface FinderOwner {
  ask(parameters: Parameters, show: (answer: Search) => void, failed: (message: string) => void): void;
  /** The call becomes the selected one. */
  show(call: Call): void;
  say(message: string): void;
  /** Where a new search begins: the start of the visible time. */
  beginNs(): number;
  /** The run's time. It may grow. */
  bounds(): { beginNs: number; endNs: number };
}

export class Finder {
  private text = "";
  private question: Parameters = {};
  private hits: Call[] = [];
  private at = -1;
  /** The searched part of the run; `hits` has all its matching calls. */
  private fromNs = 0;
  private toNs = 0;

  constructor(private readonly owner: FinderOwner) {}

  /** Forgets the search, for example because the world changes. */
  forget(): void {
    this.text = "";
    this.hits = [];
    this.at = -1;
    this.owner.say("");
  }

  /** Goes to the next or the previous call for this text. A new text begins a new search. */
  step(text: string, isBack: boolean): void {
    if (text !== this.text || this.text === "") {
      const question = questionOfText(text);
      if (typeof question === "string") return this.owner.say(question);
      this.forget();
      this.text = text;
      this.question = question;
      this.fromNs = this.toNs = Math.floor(this.owner.beginNs());
    }
    const next = this.at + (isBack ? -1 : 1);
    if (next >= 0 && next < this.hits.length) return this.goTo(next);
    this.askFor(isBack, kMaxAnswers);
  }

  private goTo(at: number): void {
    this.at = at;
    const { beginNs, endNs } = this.owner.bounds();
    const before = this.fromNs > beginNs ? "…" : "";
    const after = this.toNs < endNs ? "…" : "";
    this.owner.say(`${before}${count(at + 1)} of ${count(this.hits.length)}${after}`);
    this.owner.show(this.hits[at]!);
  }

  private askFor(isBack: boolean, answers: number): void {
    const { beginNs, endNs } = this.owner.bounds();
    if (isBack ? this.fromNs <= beginNs : this.toNs >= endNs) {
      if (this.hits.length > 0) return this.owner.say(isBack ? "no earlier call" : "no later call");
      return this.owner.say(isBack ? "no such call before here" : "no such call from here on");
    }
    const text = this.text;
    const range = isBack
      ? { begin_ns: Math.floor(beginNs), end_ns: this.fromNs, backwards: true }
      : { begin_ns: this.toNs, end_ns: Math.ceil(endNs) };
    this.owner.say("searching …");
    this.owner.ask({ ...this.question, ...range, most: kMaxCalls }, (answer) => {
      if (text === this.text) this.take(answer, isBack, answers);
    }, (message) => {
      this.text = "";
      this.owner.say(message);
    });
  }

  private take(answer: Search, isBack: boolean, answers: number): void {
    const found = answer.calls;
    // Without a position, the nearest call in the direction of the search is shown.
    const here = isBack ? (this.at < 0 ? found.length : this.at + found.length) : this.at;
    if (isBack) {
      this.fromNs = answer.searched_begin_ns;
      this.hits = [...found, ...this.hits];
    } else {
      this.toNs = answer.searched_end_ns;
      this.hits = [...this.hits, ...found];
    }
    if (found.length > 0) return this.goTo(here + (isBack ? -1 : 1));
    if (!answer.is_cut || answers > 1) return this.askFor(isBack, answers - 1);  // Or says that there is none.
    this.owner.say(`nothing ${isBack ? "back" : "up"} to ${moment(isBack ? this.fromNs : this.toNs, 1e6)} so far`);
  }
}
