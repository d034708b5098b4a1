// Labels on the timeline: names that fit, and round times.

/** A name that fits into `width` pixels: whole, without MPI_, or "". A letter is `letter` pixels wide. */
export function fitting(name: string, width: number, letter: number): string {
  if (name.length * letter <= width) return name;
  const short = name.startsWith("MPI_") ? name.slice(4) : name;
  return short.length * letter <= width ? short : "";
}

/** The smallest step of 1, 2 or 5 times a power of ten that gives at most `marks` marks; at least 1. */
export function roundStep(ns: number, marks: number): number {
  const least = Math.max(ns / Math.max(marks, 1), 1);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/** The multiples of a step within [begin, end]. */
export function multiples(begin: number, end: number, step: number): number[] {
  const found: number[] = [];
  for (let number = Math.ceil(begin / step); number * step <= end; ++number) found.push(number * step);
  return found;
}

/** Black or white, whichever is easier to read on a colour written as #rrggbb (WCAG's contrast). */
export function inkOn(colour: string): "#000000" | "#ffffff" {
  const linear = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}
