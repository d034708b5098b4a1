import assert from "node:assert/strict";
import { test } from "node:test";

import { classColour, densityColour, kShownClasses, rgbOf, scaleOf, type Rgb } from "../src/colours.ts";
import { scaleFor } from "../src/square.ts";
import { inkOn } from "../src/timeline/labels.ts";

type Three = readonly [number, number, number];

/** Linear RGB as people with each kind of colour vision see it (Machado, Oliveira and Fernandes 2009, severity 1). */
const kVision: Readonly<Record<string, readonly Three[]>> = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function linear(colour: string): Three {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return [r!, g!, b!];
}

function seen(colour: string, vision: readonly Three[]): Three {
  const parts = linear(colour);
  const [r, g, b] = vision.map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, at) => sum + part * parts[at]!, 0))));
  return [r!, g!, b!];
}

/** CIE L*a*b* for D65: the distance of two colours is about how different they look; people can just see 2. */
function lab([r, g, b]: Three): Three {
  const root = (value: number): number => value > 216 / 24389 ? Math.cbrt(value) : (24389 / 27 * value + 16) / 116;
  const x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("classes of calls are told apart by people with any kind of colour vision", () => {
  for (const [name, vision] of Object.entries(kVision)) {
    const places = kShownClasses.map((one) => lab(seen(classColour(one), vision)));
    places.forEach((one, at) => places.slice(0, at).forEach((other, before) => {
      const apart = Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
      assert.ok(apart > 15, `${name}: ${kShownClasses[at]} and ${kShownClasses[before]} are ${apart.toFixed(1)} apart`);
    }));
  }
});

test("names on calls can be read on each class's colour", () => {
  for (const name of kShownClasses) {
    const [r, g, b] = linear(classColour(name));
    const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const contrast = inkOn(classColour(name)) === "#ffffff" ? 1.05 / (light + 0.05) : (light + 0.05) / 0.05;
    assert.ok(contrast >= 4.5, `${name}: ${contrast.toFixed(2)}`);
  }
});

/** Backgrounds of style.css. */
const kSurfaces: readonly (readonly [isDark: boolean, surface: string])[] = [[false, "#ffffff"], [true, "#1b1f25"]];

function lightness(colour: Rgb): number {
  const [r, g, b] = colour.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return lab([r!, g!, b!])[0];
}

test("in both themes a larger value is further from the background", () => {
  for (const [isDark, surface] of kSurfaces) {
    const scale = scaleOf(isDark);
    const away = (step: number): number =>
      Math.abs(lightness([scale[3 * step]!, scale[3 * step + 1]!, scale[3 * step + 2]!]) - lightness(rgbOf(surface)));
    for (let step = 8; step < 256; ++step) assert.ok(away(step) > away(step - 8), `${isDark ? "dark" : "light"}: ${step}`);
  }
});

test("a density is the background for 0, its class's colour for 1, and never out of sight", () => {
  for (const [, surface] of kSurfaces) {
    const background = rgbOf(surface);
    const colour = rgbOf(classColour("collective"));
    assert.deepEqual(densityColour(background, colour, 0), background);
    assert.deepEqual(densityColour(background, colour, 1), colour);
    assert.deepEqual(densityColour(background, colour, 7), colour);
    assert.notDeepEqual(densityColour(background, colour, 1e-9), background);
    const away = (share: number): number => Math.abs(densityColour(background, colour, share)[2] - background[2]);
    for (let share = 0.1; share <= 1; share += 0.1) assert.ok(away(share) > away(share - 0.1));
  }
});

test("values of a matrix that hardly differ have colours that hardly differ", () => {
  for (const isLogarithmic of [false, true]) {
    const scale = scaleFor([2208, 2209, 0], isLogarithmic);
    assert.ok(scale.shareOf(2208) > 0.99, `logarithmic: ${isLogarithmic}`);
    assert.equal(scale.shareOf(2209), 1);
    assert.equal(scaleFor([5], isLogarithmic).shareOf(5), 1);
  }
});

test("a scale begins at 0, or spans a decade at least", () => {
  assert.equal(scaleFor([5, 10], false).shareOf(5), 0.5);
  assert.equal(scaleFor([500, 1000], true).min, 100);
  const wide = scaleFor([1, 1000], true);
  assert.deepEqual([wide.min, wide.max, wide.shareOf(1)], [1, 1000, wide.leastShare]);
  assert.equal(scaleFor([], true).max, 0);
});
