// The card of waits: wait states and the ranks that caused them, or an estimate if no wait states are known.

import type { Overview, WaitState } from "../answers.ts";
import { el, empty, type Child } from "../dom.ts";
import { count, duration, kNone, percent, plural } from "../format.ts";
import { Table } from "../table.ts";
import type { Page } from "../view.ts";

const kShown = 8;
const kShownCauses = 3;

/** What of the answer the card shows. */
export interface WaitsShown {
  isEstimate: boolean;
  /** A sentence about what the numbers are. */
  basis: string;
  causes: string[];
  /** Worlds beside those of the trace. Their waits are an estimate. */
  others: number[];
}

export function waitsShown(answer: Overview): WaitsShown {
  const sum = (of: (world: Overview["wait_coverage"][number]) => number): number =>
    answer.wait_coverage.reduce((total, world) => total + of(world), 0);
  const blocking = sum((world) => world.blocking.time_ns);
  const analysed = sum((world) => world.analysed.time_ns);
  if (sum((world) => world.analysed.calls) === 0) {
    return { isEstimate: true, causes: [], others: [], basis: `An estimate: the whole time of calls that received from a rank, ` +
      `${percent(answer.waits_share)} of the time in MPI.${hint(answer)}` };
  }
  const name = (world: number, rank: number): string => answer.worlds_in_all > 1 ? `rank ${world}/${rank}` : `rank ${rank}`;
  return {
    isEstimate: false,
    basis: `From the trace: ${duration(sum((world) => world.waiting_ns))} of ${duration(blocking)} in blocking calls; ` +
      `${percent(blocking > 0 ? analysed / blocking : 0)} of this time is analysed.`,
    causes: answer.wait_causes.slice(0, kShownCauses).map((cause) =>
      `${name(cause.world, cause.rank).replace("r", "R")} is the root cause of ${duration(cause.time_ns)} of waiting in ` +
      `${cause.ranks === 1 ? name(cause.world, cause.longest[0]!) : plural(cause.ranks, "rank")}.`),
    others: answer.wait_coverage.filter((world) => world.analysed.calls === 0 && world.blocking.calls > 0)
      .map((world) => world.world),
  };
}

function hint(answer: Overview): string {
  if (answer.wait_fault !== null) return ` The trace cannot be read: ${answer.wait_fault}.`;
  if (answer.run.detail !== "trace") return " With --detail trace, the causes are known.";
  if (!answer.scope.has_ended) return " The trace is analysed when the run has ended; xylem report does it at once.";
  return answer.wait_coverage.length === 0 ? " The trace is being analysed." : "";
}

function estimates(page: Page): Table<Overview["waits"][number]> {
  return new Table([
    { id: "rank", head: "rank", isNumber: true, cell: (row) => row.rank, value: (row) => row.rank },
    { id: "peer", head: "waits for", isNumber: true, cell: (row) => row.peer, value: (row) => row.peer },
    { id: "time", head: "time", isNumber: true, cell: (row) => duration(row.time_ns), value: (row) => row.time_ns },
    { id: "calls", head: "calls", isNumber: true, cell: (row) => count(row.calls), value: (row) => row.calls },
  ], {
    caption: "Who waits for whom most",
    sortedBy: "time",
    hint: (row) => `Show the timeline of rank ${row.rank}`,
    choose: (row) => page.go({ view: "timeline", world: row.world, rank: row.rank }),
  });
}

function waitStates(page: Page): Table<WaitState> {
  const rank = (of: number | null): Child => of === null ? "many" : of;
  return new Table<WaitState>([
    { id: "rank", head: "rank", isNumber: true, cell: (row) => row.rank, value: (row) => row.rank },
    { id: "peer", head: "waits for", isNumber: true, cell: (row) => rank(row.cause_rank), value: (row) => row.cause_rank },
    { id: "time", head: "time", isNumber: true, cell: (row) => duration(row.time_ns), value: (row) => row.time_ns },
    { id: "kind", head: "why", cell: (row) => row.kind.replaceAll("_", " "), value: (row) => row.kind },
    { id: "function", head: "in", cell: (row) => row.function, value: (row) => row.function },
    { id: "root", head: "root cause", isNumber: true, title: "The rank that did not wait itself",
      cell: (row) => row.root_rank === row.cause_rank ? kNone : rank(row.root_rank), value: (row) => row.root_rank },
  ], {
    caption: "The longest waits",
    sortedBy: "time",
    hint: (row) => `Show the timeline of rank ${row.rank}`,
    choose: (row) => page.go({ view: "timeline", world: row.world, rank: row.rank }),
  });
}

/** The inside of the card. */
export class WaitsCard {
  private readonly estimates: Table<Overview["waits"][number]>;
  private readonly states: Table<WaitState>;

  constructor(page: Page) {
    this.estimates = estimates(page);
    this.states = waitStates(page);
  }

  show(answer: Overview): Child[] {
    const shown = waitsShown(answer);
    const basis = el("p", { class: "faint", "data-value": "waits_basis" }, shown.basis);
    if (shown.isEstimate) {
      this.estimates.show(answer.waits.slice(0, kShown));
      if (answer.waits.length > 0) return [basis, this.estimates.element];
      return [empty("No rank has waited in a receive.",
        `Waits in collectives and in sends are not in this estimate.${hint(answer)}`)];
    }
    this.states.show(answer.wait_states.slice(0, kShown));
    const others = answer.waits.filter((row) => shown.others.includes(row.world));
    this.estimates.show(others.slice(0, kShown));
    return [
      basis,
      ...shown.causes.map((cause) => el("p", { class: "wait-cause" }, cause)),
      answer.wait_states.length > 0 && this.states.element,
      answer.wait_states_in_all > kShown && el("p", { class: "faint" },
        `${count(answer.wait_states_in_all - Math.min(kShown, answer.wait_states.length))} more in the table wait_state`),
      others.length > 0 && el("p", { class: "faint" }, `Of ${shown.others.length === 1 ? "world" : "worlds"} ` +
        `${shown.others.join(", ")}, no blocking call is analysed; an estimate:`),
      others.length > 0 && this.estimates.element,
    ];
  }
}
