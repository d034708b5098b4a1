// The contract between the frame and its views.
//
// A view is an object of this module's type `View`, listed in views/all.ts. The frame mounts one view at a time,
// below the header and the tabs. It calls refresh() when something has changed: the run's file, the place in the
// address, or the theme. The selection is in the place, so an address shows the same to somebody else.
//
//   export const hosts: View = {
//     id: "hosts", title: "Hosts",
//     mount(root, page) {
//       const list = el("ul");
//       root.append(list);
//       return {
//         refresh() {
//           page.load("hosts", "hosts", {}, (answer) =>
//             fill(list, ...answer.hosts.map((host) => el("li", {}, host.host))));
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
  /** Builds the view inside `root`, which is empty. The frame calls refresh() right after this. */
  mount(root: HTMLElement, page: Page): Mounted;
}

/** A key that works while a view is shown; `?` lists it. */
export interface Key {
  /** A value of KeyboardEvent.key. Digits, "t", "?" and "Escape" belong to the frame. */
  readonly key: string;
  readonly what: string;
  press(): void;
}

export interface Mounted {
  /** Requests the data of the view, and draws it when it arrives. May be called at any time. */
  refresh(): void;
  /** Ends everything that would outlive `root`: observers, listeners on the window. The frame cancels loads. */
  unmount(): void;
  readonly keys?: readonly Key[];
}

/** What the frame does for a view. */
export interface Page {
  /** The current selection. */
  readonly place: Place;
  /** The current theme, for canvases. The style sheet colours all other elements. */
  readonly theme: Theme;

  /**
   * Changes the selection. Parts that `change` does not name stay, with two exceptions: a new view drops the old
   * view's own settings, and a new world drops the rank. With "push" the Back button undoes the change. Use "replace"
   * for many small changes.
   */
  go(change: Change, how?: "push" | "replace"): void;

  /** The address of a place, for links: el("a", {href: page.link({view: "timeline", rank: 3})}, ...) */
  link(change: Change): string;

  /**
   * Sends a request to the server, and calls `show` with the answer. A new request with the same `slot` cancels the
   * older one; leaving the view cancels all. If the request fails, `show` is not called, and the frame shows the
   * error above the view. If `failed` is given, it is called instead.
   */
  load<Name extends keyof Answers>(
    slot: string, name: Name, parameters: Parameters, show: (answer: Answers[Name]) => void,
    failed?: (message: string) => void): void;
}
