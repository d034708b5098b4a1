// A table of the calls that have not returned. Several views have it.

import type { CallUnderWay } from "./answers.ts";
import { duration, kNone, moment } from "./format.ts";
import { Table } from "./table.ts";
import type { Page } from "./view.ts";

/** Times are shown in milliseconds: the calls last for long, as a rule. */
const kStepNs = 1e6;

export function endedText(call: CallUnderWay): string {
  return call.has_ended ? `${call.function}, ended in it` : call.host_lost ? `${call.function}, host lost` : call.function;
}

/** `hasWorlds`: the calls are of several worlds. */
export function underWay(page: Page, hasWorlds = false): Table<CallUnderWay> {
  return new Table<CallUnderWay>([
    ...(hasWorlds
      ? [{ id: "world", head: "world", isNumber: true, value: (call: CallUnderWay) => call.world,
           cell: (call: CallUnderWay) => call.world }]
      : []),
    { id: "rank", head: "rank", isNumber: true, value: (call) => call.rank,
      cell: (call) => call.thread === 0 ? call.rank : `${call.rank}, thread ${call.thread}` },
    { id: "function", head: "is in", value: (call) => call.function,
      cell: endedText },
    { id: "duration", head: "for", isNumber: true, cell: (call) => duration(call.duration_ns),
      value: (call) => call.duration_ns, title: "Up to the newest time that is known of the rank" },
    { id: "peer", head: "other rank", isNumber: true, cell: (call) => call.peer ?? kNone, value: (call) => call.peer,
      title: "The other side of a message, or the root of a collective" },
    { id: "since", head: "since", isNumber: true, cell: (call) => moment(call.begin_ns, kStepNs),
      value: (call) => call.begin_ns },
  ], {
    caption: "Calls that have not returned",
    sortedBy: "duration",
    hint: (call) => `Show the timeline of rank ${call.rank}`,
    choose: (call) => page.go({ view: "timeline", world: call.world, rank: call.rank }),
  });
}
