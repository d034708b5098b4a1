// Texts about the processes of the overlay.

import type { TreeNode } from "../answers.ts";
import { el, type Child } from "../dom.ts";
import { bytes, count, duration, kNone, moment, percent, plural, rate } from "../format.ts";
import { lines } from "../hint.ts";
import { troubleOf } from "./branches.ts";

const kRoles: Readonly<Record<string, string>> = {
  front_end: "front end", comm_process: "communication process", back_end: "back end",
  program: "program",
};

export function roleOf(node: TreeNode): string {
  return kRoles[node.role] ?? node.role;
}

/** "16 back ends" */
export function rolesOf(node: TreeNode, number: number): string {
  return number === 1 ? roleOf(node) : plural(number, roleOf(node), node.role === "comm_process"
    ? "communication processes" : `${roleOf(node)}s`);
}

/** A number as text; if it is missing, a dash. */
export function or(value: number | null | undefined, text: (value: number) => string): string {
  return value === null || value === undefined ? kNone : text(value);
}

export function stateOf(node: TreeNode): HTMLElement {
  const trouble = troubleOf(node);
  const silent = node.silent_ns === null ? "" : `, silent for ${duration(node.silent_ns)}`;
  return el("span", { class: trouble === null ? null : "bad" }, `${node.state}${silent}`);
}

/** A fact about a host (placement/facts.h) with its unit. */
function factOf(name: string, value: number): string {
  if (name === "idle") return percent(value);
  if (name === "memory") return `${value.toFixed(1)} GiB`;
  if (name === "network") return `${count(value)} Gbit/s`;
  if (name === "round_trip") return duration(1e3 * value);
  return Number.isInteger(value) ? count(value) : value.toFixed(2);
}

/** The details of one process. `ranks` includes the ranks below it, as in the table. */
export function linesOf(node: TreeNode, ranks: number): HTMLElement {
  const { link } = node;
  const pairs: [string, Child][] = [
    ["process", roleOf(node)], ["host", node.host], ["state", stateOf(node)],
    ["ranks", count(ranks)], ["level", String(node.level)],
    ["reported", or(link?.at_ns, (ns) => moment(ns, 1e7))],
    ["messages", or(link?.packets_per_s, rate)],
    ["bytes", or(link?.bytes_per_s, (value) => `${bytes(value)}/s`)],
    // The front end has no parent: its numbers are about the store.
    ["queue", or(link?.queue_bytes, bytes)],
    [node.role === "front_end" ? "longest commit" : "round trip", or(link?.round_trip_ns, duration)],
    ["transport", link?.transport || kNone],
    ["turned away", or(link?.refused, (value) => plural(value, "stranger"))],
  ];
  if (node.reason !== null) pairs.push(["why there", node.reason]);
  for (const [name, value] of Object.entries(node.facts ?? {})) {
    pairs.push([`host's ${name.replaceAll("_", " ")}`, factOf(name, value)]);
  }
  return lines(...pairs);
}
