// The panel beside the timeline: the selected call, its messages, and the longest calls of the visible part. Screen
// readers read it instead of the canvas.

import type { Call, LongCall, Message } from "../answers.ts";
import { el, fill, type Child } from "../dom.ts";
import { bytes, count, duration, estimate, kNone, moment } from "../format.ts";
import { lines } from "../hint.ts";
import { linkText } from "./links.ts";
import { isPaired } from "./scene.ts";

export interface Listed {
  readonly rank: number;
  readonly function: string;
  readonly beginNs: number;
  readonly endNs: number;
  readonly durationNs: number;
  /** The call had not returned. */
  readonly isOpen?: boolean;
}

export function listed(call: Call): Listed {
  return { rank: call.rank, function: call.function, beginNs: call.begin_ns, endNs: call.end_ns,
           durationNs: call.end_ns - call.begin_ns, isOpen: call.is_open === true };
}

/** A call for which the times may be those of its window. */
export function listedOfWindow(call: LongCall): Listed {
  return { rank: call.rank, function: call.function, beginNs: call.begin_ns, endNs: call.end_ns,
           durationNs: call.duration_ns };
}

const value = (name: string, text: string): HTMLElement => el("span", { "data-value": name }, text);

/** What is known of the end of a call. */
export function endOf(call: Call): string {
  if (call.has_ended) return ", the rank ended in it";
  if (call.host_lost) return ", then its host was lost";
  return call.is_open ? " so far" : "";
}

/** A call's exact values, with names for programs. */
export function callLines(call: Call): HTMLElement {
  const length = call.end_ns - call.begin_ns;
  const pairs: [string, Child][] = [
    ["function", value("function", call.function)],
    ["rank", value("rank", call.thread === 0 ? String(call.rank) : `${call.rank}, thread ${call.thread}`)],
    ["begin", value("begin", moment(call.begin_ns, 1))],
    ["duration", value("duration", estimate(call.estimated, duration(length)) + endOf(call))],
    ["peer", value("peer", call.peer === null ? kNone : `rank ${call.peer}`)],
    ["payload", value("bytes", call.is_open ? kNone : bytes(call.bytes))],
    ["tag", value("tag", call.tag === null ? kNone : String(call.tag))],
    ["communicator", value("comm", call.comm === null ? kNone : String(call.comm))],
  ];
  if (call.number !== undefined) pairs.push(["number", value("number", count(call.number))]);
  if (call.calls > 1) pairs.push(["stands for", value("calls", `${count(call.calls)} calls`)]);
  return lines(...pairs);
}

function timeText(ns: number | null): string {
  return ns === null ? "not known" : moment(ns, 1);
}

export function messageLines(message: Message): HTMLElement {
  return lines(
    ["message", `rank ${message.source} to rank ${message.destination}`],
    ["sent", timeText(message.sent_ns)],
    ["received", timeText(message.received_ns)],
    ["on its way", isPaired(message) ? duration(message.received_ns - message.sent_ns) : kNone],
    ["payload", bytes(message.bytes)],
    ["tag", message.tag === null ? kNone : String(message.tag)],
    ["communicator", message.comm === null ? kNone : String(message.comm)]);
}

export class Panel {
  readonly element: HTMLElement;
  private readonly call = el("div");
  private readonly list = el("ol", { class: "longest" });
  private readonly note = el("p", { class: "faint" });
  private listedNow = "";

  constructor(private readonly jump: (call: Listed) => void) {
    this.element = el("aside", { class: "timeline-panel", "aria-label": "Calls" },
      el("section", { id: "chosen", "aria-live": "polite" }, el("h2", {}, "Chosen call"), this.call),
      el("section", { id: "longest" }, el("h2", {}, "Longest calls shown"), this.list, this.note));
  }

  /** `linked`: the calls of its collective; empty if it is none. */
  showCall(call: Call | null, messages: readonly Message[], linked: readonly Call[] = []): void {
    if (call === null) {
      fill(this.call, el("p", { class: "faint" }, "Click on a call, or on one of the longest ones below."));
      return;
    }
    const other = (message: Message): string => message.source === call.rank
      ? `to rank ${message.destination}, received: ${timeText(message.received_ns)}`
      : `from rank ${message.source}, sent: ${timeText(message.sent_ns)}`;
    fill(this.call, callLines(call),
      linked.length > 0 && el("p", { "data-value": "collective" }, linkText(linked)),
      ...messages.slice(0, 4).map((message) => el("p", { class: "faint" }, `${bytes(message.bytes)} ${other(message)}`)));
  }

  /** `note` says how the list is limited; may be empty. */
  showLongest(calls: readonly Listed[], note: string): void {
    this.note.textContent = note;
    this.note.hidden = note === "";
    const key = JSON.stringify(calls);
    if (key === this.listedNow) return;  // Keeps a button that is being clicked.
    this.listedNow = key;
    fill(this.list, ...calls.map((call) =>
      el("li", {}, el("button", {
        type: "button", title: `At ${moment(call.beginNs, 1)}: show it`,
        "data-rank": call.rank, "data-begin": call.beginNs, "data-duration": call.durationNs,
        click: () => this.jump(call),
      }, el("b", {}, duration(call.durationNs)), ` ${call.function} `,
        el("span", { class: "faint" }, `rank ${call.rank}`)))));
  }
}
