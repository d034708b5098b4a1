// Light or dark: the setting of the system, or the choice of the user, which the browser stores.

import type { Theme } from "./colours.ts";

const kStored = "xylem.theme";
const kDark = matchMedia("(prefers-color-scheme: dark)");

function chosen(): string | null {
  try {
    return localStorage.getItem(kStored);
  } catch {
    return null;  // The browser does not allow storage.
  }
}

/** Applies the theme to the page, and reads its colours from the style sheet. */
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
    // The theme stays that of the system.
  }
}

/** Calls `changed` when the system changes between light and dark. */
export function watchTheme(changed: () => void): void {
  kDark.addEventListener("change", changed);
}
