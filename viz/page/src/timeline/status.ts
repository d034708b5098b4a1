// The text below the timeline: what is shown, whether times are estimates, and what is lost.

import { el, type Child } from "../dom.ts";
import type { Timeline } from "../answers.ts";
import { count, duration, moment, plural } from "../format.ts";
import type { Arrows } from "./arrows.ts";
import type { Scene } from "./scene.ts";
import type { Viewport } from "./viewport.ts";

/** `arrows`: the messages with a line; null if messages are hidden. */
export function statusOf(scene: Scene, view: Viewport, isWaiting: boolean, arrows: Arrows | null): Child[] {
  const { answer } = scene;
  const length = view.endNs - view.beginNs;
  const lost = answer.scope.lost_calls;
  const incomplete = answer.scope.has_ended ? answer.scope.incomplete_ranks : 0;
  return [
    el("span", { "data-value": "range" },
      `${moment(view.beginNs, length / 100)} to ${moment(view.endNs, length / 100)}, ${duration(length)}: `),
    el("span", { "data-value": "detail", "data-detail": answer.detail }, detailOf(scene)),
    isWaiting && " Loading more.",
    ...messagesOf(answer, arrows),
    answer.calls.some((call) => call.is_open === true) && " A call with a torn end has not returned.",
    answer.scope.estimated && " ~ Some times are estimates: calls that were not timed are scaled up.",
    lost > 0 && el("b", { class: "bad", "data-value": "lost" },
      ` ${plural(lost, "call")} of this run were lost and cannot be shown.`),
    incomplete > 0 && el("b", { class: "bad" }, ` Data of ${plural(incomplete, "rank")} may be missing.`),
  ];
}

/** Says how many messages are drawn, and which cannot be drawn. */
function messagesOf(answer: Timeline, arrows: Arrows | null): Child[] {
  return [
    arrows !== null && arrows.inView > 0 && el("span", { "data-value": "arrows" }, arrowText(arrows)),
    answer.messages.length < answer.messages_in_all &&
      ` Only the ${count(answer.messages.length)} largest of ${plural(answer.messages_in_all, "message")} around here are loaded.`,
    answer.unpaired > 0 && el("span", { "data-value": "unpaired" },
      ` ${plural(answer.unpaired, "end")} of messages around here: the other end is lost, unknown or far away.`),
    answer.backwards > 0 && el("b", { class: "bad", "data-value": "backwards" },
      ` ${plural(answer.backwards, "message")} would go back in time by more than the clocks' error, and are not drawn.`),
  ];
}

function arrowText({ shown, inView }: Arrows): string {
  if (shown.length < inView) return ` The ${count(shown.length)} largest of ${plural(inView, "message")} have a line.`;
  return ` ${plural(inView, "message")} ${inView === 1 ? "has" : "have"} a line.`;
}

/** Says what is drawn. */
export function detailOf(scene: Scene): string {
  const { answer } = scene;
  if (answer.detail === "calls" && answer.reason === "") return "each call is drawn.";
  if (answer.detail === "calls") return `calls that have not returned; ${answer.reason}.`;
  if (answer.detail === "windows") return `share of time in MPI by windows; ${answer.reason}.`;
  return `${plural(answer.calls_in_all ?? 0, "call")} around here; the stronger a colour, the more of the time is in MPI, ` +
    "mostly in calls of this class; zoom in to see each call.";
}
