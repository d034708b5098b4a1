// Light or dark: as the system has it, or as the switch says, which the browser keeps.

import type { Theme } from "./colours.ts";

const kStored = "xylem.theme";
const kDark = matchMedia("(prefers-color-scheme: dark)");

function chosen(): string | null {
  try {
    return localStorage.getItem(kStored);
  } catch {
    return null;  // A browser that keeps nothing.
  }
}

/** Puts the theme on the page, and reads the colours that the style sheet gives it. */
export function applyTheme(): Theme {
  const isDark = (chosen() ?? (kDark.matches ? "dark" : "light")) === "dark";
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  return {
    isDark,
    surface: colour("--surface"),
    text: colour("--text"),
    faint: colour("--faint"),
    line: colour("--line"),
    accent: colour("--accent"),
  };
}

export function switchTheme(now: Theme): void {
  try {
    localStorage.setItem(kStored, now.isDark ? "light" : "dark");
  } catch {
    // It stays as the system has it.
  }
}

/** Calls when the system changes between day and night. */
export function watchTheme(changed: () => void): void {
  kDark.addEventListener("change", changed);
}
