// The names of series: which are shown at first, which a search finds, and the units of their values.

import { bytes, count, duration } from "../format.ts";

/** A series of hosts or of ranks. In addresses the name of a series of ranks begins with "rank:". */
export interface Choice {
  readonly name: string;
  readonly isOfRanks: boolean;
}

/** Series that are useful at a glance. The first of these that the run has are shown at first. */
const kFirst = ["cpu.user", "cpu.idle", "memory.MemAvailable", "load.1m", "idle", "run_queue"];
const kAtFirst = 3;
/** Maximum number of selected series: they fit on a screen, and the server can answer them in a live run. */
export const kMaxChosen = 6;

export function writeChoices(choices: readonly Choice[]): string {
  return choices.map(({ name, isOfRanks }) => (isOfRanks ? `rank:${name}` : name)).join(",");
}

/** The series that an address names, if they exist; without a name, the series that are shown at first. */
export function readChoices(
    text: string | undefined, ofHosts: readonly string[], ofRanks: readonly string[]): Choice[] {
  if (text === undefined) {
    const known = new Set(ofHosts);
    const first = kFirst.filter((name) => known.has(name)).slice(0, kAtFirst);
    return (first.length > 0 ? first : ofHosts.slice(0, kAtFirst)).map((name) => ({ name, isOfRanks: false }));
  }
  const choices = text.split(",").map((name) => name.startsWith("rank:")
    ? { name: name.slice(5), isOfRanks: true } : { name, isOfRanks: false });
  return choices.filter(({ name, isOfRanks }) => (isOfRanks ? ofRanks : ofHosts).includes(name)).slice(0, kMaxChosen);
}

/** The names that contain every word of a search. */
export function matching(names: readonly string[], search: string): string[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return names.filter((name) => words.every((word) => name.toLowerCase().includes(word)));
}

/** Units of the facts for placement (placement/facts.h), which no service measures. */
const kFactUnits: Readonly<Record<string, string>> = {
  idle: "share", memory: "GiB", network: "Gbit/s", round_trip: "us", run_queue: "", cores: "", processes: "",
};

export function isFact(name: string): boolean {
  return name in kFactUnits;
}

export function unitOf(name: string, units: ReadonlyMap<string, string>): string {
  return units.get(name) ?? kFactUnits[name] ?? "";
}

function plain(value: number): string {
  const size = Math.abs(value);
  return size >= 1000 || Number.isInteger(value) ? count(Math.round(value)) : value.toFixed(size >= 100 ? 1 : 2);
}

/** A value with a unit of the table `metric`, as text. */
export function withUnit(value: number, unit: string): string {
  switch (unit) {
    case "B": return bytes(value);
    case "KiB": return bytes(1024 * value);
    case "GiB": return bytes(2 ** 30 * value);
    case "B/s": return `${bytes(value)}/s`;
    case "1/s": return `${plain(value)} /s`;
    case "%": return `${value.toFixed(1)} %`;
    case "share": return `${(100 * value).toFixed(1)} %`;
    case "us": return duration(1e3 * value);
    case "ns": return duration(value);
    case "": return plain(value);
    default: return `${plain(value)} ${unit}`;
  }
}
