// Numbers with their units, as people read them.

/** Shown instead of a missing number. */
export const kNone = "–";

/** Three significant digits, without an exponent: 0.123, 1.23, 12.3, 123, 1234 */
function short(number: number): string {
  const size = Math.abs(number);
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return number.toFixed(digits);
}

function scaled(number: number, base: number, units: readonly string[]): string {
  let unit = 0;
  while (Math.abs(number) >= base * 0.9995 && unit + 1 < units.length) {
    number /= base;
    ++unit;
  }
  // A whole number in the smallest unit is shown in full.
  const text = unit === 0 && Number.isInteger(number) ? String(number) : short(number);
  return `${text} ${units[unit]}`;
}

/** 1234567 -> 1,234,567 */
export function count(number: number | bigint): string {
  const text = typeof number === "bigint" ? String(number) : number.toFixed(0);
  return text.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** 1234567 -> 1.23 M: for axes and narrow places. */
export function brief(number: number): string {
  return scaled(number, 1000, ["", "k", "M", "G", "T", "P"]).trimEnd();
}

/** A length of time: 12 ns, 1.23 µs, 45.6 ms, 12.3 s, 5 min 12 s, 2 h 05 min */
export function duration(ns: number): string {
  if (Math.abs(ns) < 99.95e9) return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
  const seconds = Math.round(ns / 1e9);
  if (seconds < 600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A time of the run, with enough digits to tell times apart that differ by `stepNs`: 12.345 s */
export function moment(ns: number, stepNs: number): string {
  const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(1, stepNs)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

export function bytes(number: number): string {
  return scaled(number, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** 0.1234 -> 12.3 % */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** 1234.5 -> 1,234 /s */
export function rate(perSecond: number): string {
  return perSecond < 10 ? `${short(perSecond)} /s` : `${count(perSecond)} /s`;
}

/** A value in one of the API's units. */
export function inUnit(value: number, unit: string): string {
  if (unit === "ns") return duration(value);
  if (unit === "bytes") return bytes(value);
  return `${count(value)} ${value === 1 && unit.endsWith("s") ? unit.slice(0, -1) : unit}`;
}

/** Marks an estimate with "~". */
export function estimate(isEstimated: boolean, text: string): string {
  return isEstimated ? `~${text}` : text;
}

/** "1 rank", "2 ranks" */
export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** "rank 3"; "ranks 0–3" for several ranks. */
export function ranks(first: number, number: number): string {
  return number === 1 ? `rank ${first}` : `ranks ${first}–${first + number - 1}`;
}

/** A date in the reader's time zone. `ns` is nanoseconds since 1970. */
export function date(ns: number): string {
  const at = new Date(ns / 1e6);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
