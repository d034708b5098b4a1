// Colours that people with any kind of colour vision tell apart: viridis for amounts, those of Okabe and
// Ito for kinds.

export interface Theme {
  readonly isDark: boolean;
  /** Colours of the style sheet, for canvases. */
  readonly surface: string;
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly accent: string;
}

/** Red, green and blue, 0 to 255. */
export type Rgb = readonly [number, number, number];

/** viridis at equal steps (Smith and van der Walt, CC0). */
const kViridis: readonly Rgb[] = [
  [68, 1, 84], [72, 36, 117], [65, 68, 135], [53, 95, 141], [42, 120, 142], [33, 145, 140],
  [34, 168, 132], [68, 191, 112], [122, 209, 81], [189, 223, 38], [253, 231, 37],
];

const kSteps = 256;

/**
 * 256 colours, three bytes each. In both themes a larger value is further from the background: brighter on a dark
 * surface, darker on a light one.
 */
export function scaleOf(isDark: boolean): Uint8ClampedArray {
  const table = new Uint8ClampedArray(3 * kSteps);
  for (let step = 0; step < kSteps; ++step) {
    const at = (isDark ? step : kSteps - 1 - step) / (kSteps - 1) * (kViridis.length - 1);
    const low = Math.min(Math.floor(at), kViridis.length - 2);
    for (let channel = 0; channel < 3; ++channel) {
      const from = kViridis[low]![channel]!;
      const to = kViridis[low + 1]![channel]!;
      table[3 * step + channel] = from + (to - from) * (at - low);
    }
  }
  return table;
}

/** The index of the colour for a share from 0 to 1. */
export function stepOf(share: number): number {
  return Math.max(0, Math.min(kSteps - 1, Math.round(share * (kSteps - 1))));
}

/** The colour for a share, in the syntax of CSS. */
export function colourOf(scale: Uint8ClampedArray, share: number): string {
  const at = 3 * stepOf(share);
  return `rgb(${scale[at]} ${scale[at + 1]} ${scale[at + 2]})`;
}

/** The colour of each class of functions (wire/registration.h). */
const kClassColours: Readonly<Record<string, string>> = {
  point_to_point: "#0072b2",
  collective: "#d55e00",
  completion: "#e69f00",
  probe: "#cc79a7",
  one_sided: "#009e73",
  file: "#56b4e9",
};

/** The classes with a colour of their own, and "other" for the rest. */
export const kShownClasses: readonly string[] = [...Object.keys(kClassColours), "other"];

/** The colour of a class in both themes; grey for an unknown class. */
export function classColour(name: string): string {
  return kClassColours[name] ?? "#686d74";
}

/** The name of a class for people. */
export function classText(name: string): string {
  return name === "" ? "other" : name.replaceAll("_", " ");
}

/** A colour written as #rrggbb. */
export function rgbOf(colour: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) as unknown as Rgb;
}

/** A density above 0 has at least this share of its colour, so that it can be seen. */
const kLeastInk = 0.12;

/** The colour of a density: the background for 0, and the whole colour for 1. */
export function densityColour(background: Rgb, colour: Rgb, share: number): Rgb {
  const ink = share <= 0 ? 0 : kLeastInk + (1 - kLeastInk) * Math.min(share, 1);
  return background.map((from, at) => Math.round(from + (colour[at]! - from) * ink)) as unknown as Rgb;
}
