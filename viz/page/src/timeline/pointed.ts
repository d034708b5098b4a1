// Finds what the pointer is on, and describes it. A call has priority over a message, a message over a window.

import type { Call, Message } from "../answers.ts";
import type { Child } from "../dom.ts";
import { duration, estimate, moment, percent, ranks as rankText } from "../format.ts";
import { lines } from "../hint.ts";
import { classText } from "../colours.ts";
import { callAt, messageAt, windowAt, type Point } from "./hits.ts";
import { callLines, messageLines } from "./panel.ts";
import type { Scene } from "./scene.ts";
import type { Viewport } from "./viewport.ts";

export interface Pointed {
  /** The call or message that is highlighted; windows are not highlighted. */
  readonly on: Call | Message | null;
  /** The description; null: there is nothing. */
  readonly what: Child;
}

export function pointedAt(scene: Scene, view: Viewport, at: Point, hasMessages: boolean): Pointed {
  const call = callAt(scene, view, at);
  if (call !== null) return { on: call, what: callLines(call) };
  const message = hasMessages ? messageAt(scene, view, at) : null;
  if (message !== null) return { on: message, what: messageLines(message) };
  const window = windowAt(scene, view, at);
  return { on: null, what: window === null ? null : lines(
    ["", rankText(window.firstRank, window.ranks)],
    ["from", moment(window.beginNs, window.lengthNs)], ["for", duration(window.lengthNs)],
    ["in MPI", estimate(scene.answer.scope.estimated, percent(window.share))],
    ...(window.dominant === null ? [] : [["mostly", classText(window.dominant)] as const])) };
}
