// The state of the connection to the server in words: a short word for the header, and for an error a sentence that
// says what to do.

/**
 * The state of the connection. "refused": the server does not know this browser's token. "removed": the run's file no
 * longer exists. "unreadable": the server cannot read the file.
 */
export type LiveState =
  "connecting" | "live" | "polling" | "refused" | "removed" | "unreadable" | "unreachable";

export interface Said {
  /** The word in the header, and its mark in the style sheet. */
  readonly text: string;
  readonly mark: LiveState | "ended";
  /** A sentence that is shown on hovering. */
  readonly title: string;
  /** What is wrong and what to do; null: nothing is wrong. */
  readonly trouble: string | null;
}

const kAsItWas = "What is shown is as it was; the page goes on by itself";

export const kRefused = "The server does not know this browser: it was started anew with another token, or the browser has" +
  " lost its cookie. Open the whole address that it has printed, with ?token= in it. xylem view --live prints a new one" +
  " for a run that lives, xylem view FILE for one that has ended.";
export const kUnreachable = "The server does not answer. If xylem view has ended, start it again: what the run has stored is in its file.";

/** `why` is the server's message; may be empty. */
export function said(state: LiveState, why: string, hasEnded: boolean): Said {
  const bad = (text: string, trouble: string): Said => ({ text, mark: state, title: trouble, trouble });
  const well = (text: string, title: string): Said => ({ text, mark: state, title, trouble: null });
  const because = why === "" ? "" : ` (${why})`;
  if (hasEnded && (state === "live" || state === "polling")) {
    return { text: "ended", mark: "ended", title: "The run has ended; what is shown is what it has stored.", trouble: null };
  }
  switch (state) {
    case "connecting":
      return well("connecting", "The page is about to be told of news.");
    case "live":
      return well("live", "The page follows the run: what is stored is shown within a second or so.");
    case "polling":
      return well("live, slower", "There is no WebSocket to the server; the page asks for news every few seconds.");
    case "refused":
      return bad("not let in", kRefused);
    case "removed":
      return bad("file gone", `The run's file is not there any more${because}. ${kAsItWas} when the file is back.` +
        " If it was moved, start xylem view where it is now.");
    case "unreadable":
      return bad("file not readable",
        `The server cannot read the run's file now${because}. ${kAsItWas} as soon as it can.`);
    case "unreachable":
      return bad("no server", `${kUnreachable} ${kAsItWas} when the server is back.`);
  }
}

/** The state for the HTTP status of an answer; 0: there was no answer. */
export function stateOf(status: number): LiveState {
  if (status === 0) return "unreachable";
  if (status === 401) return "refused";
  if (status === 404) return "removed";
  // The server is slow, but it answers.
  return status === 504 ? "polling" : "unreadable";
}
