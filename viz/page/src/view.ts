// The contract between the frame and its views.
//
// A view is an object of this module's type `View`, listed in views/all.ts. The frame mounts one at a
// time, below the header and the tabs, and tells it by refresh() that something has changed: the
// run's file, the place in the address, the theme, or its size. A view keeps nothing that matters:
// what is chosen stands in the place, so that an address shows the same to somebody else.
//
//   export const hosts: View = {
//     id: "hosts", title: "Hosts",
//     mount(root, page) {
//       const list = el("ul");
//       root.append(list);
//       return {
//         refresh() {
//           page.load("hosts", "hosts", {}, (answer) => fill(list, answer.hosts));
//         },
//         unmount() {},
//       };
//     },
//   };

import type { Answers } from "./answers.ts";
import type { Parameters } from "./api.ts";
import type { Place, Change } from "./place.ts";
import type { Theme } from "./colours.ts";

export interface View {
  /** Its name in the address: #/hosts */
  readonly id: string;
  /** Its name on the tab. */
  readonly title: string;
  /** Builds it inside `root`, which is empty and fills the page. refresh() follows at once. */
  mount(root: HTMLElement, page: Page): Mounted;
}

/** A key that works while a view is shown; `?` lists it. */
export interface Key {
  /** As KeyboardEvent.key has it. Digits, "?" and "Escape" are the frame's. */
  readonly key: string;
  readonly what: string;
  press(): void;
}

export interface Mounted {
  /** Asks for what it shows, and draws it when it comes. May be called at any time. */
  refresh(): void;
  /** Ends what would outlive `root`: observers, listeners on the window. Loads end by themselves. */
  unmount(): void;
  readonly keys?: readonly Key[];
}

/** What the frame does for a view. */
export interface Page {
  /** What is chosen now. */
  readonly place: Place;
  /** The theme that is shown now, for canvases; elements are coloured by the style sheet. */
  readonly theme: Theme;

  /**
   * Changes what is chosen; what `change` does not name stays, except the views' own settings when the
   * view changes. "push" makes a step that the Back button undoes; "replace" does not, for changes by the dozen.
   */
  go(change: Change, how?: "push" | "replace"): void;

  /** The address of a place, for links: el("a", {href: page.link({view: "timeline", rank: 3})}, ...) */
  link(change: Change): string;

  /**
   * Asks the server, and gives the answer to `show` unless the view is gone or has asked again
   * under the same `slot`, which ends the older question. When it fails, the frame says so above the view,
   * and `show` is not called; what was drawn stays. With `failed` the view says so itself.
   */
  load<Name extends keyof Answers>(
    slot: string, name: Name, parameters: Parameters, show: (answer: Answers[Name]) => void,
    failed?: (message: string) => void): void;
}
