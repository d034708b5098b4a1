// How news of the run comes, in words: a short one beside the command, and where something is wrong a
// sentence that says what to do.

/**
 * How news comes now. "refused": the server does not know this browser's token. "removed", "unreadable": the
 * server is there, the run's file is not, or is not what it was.
 */
export type LiveState =
  "connecting" | "live" | "polling" | "refused" | "removed" | "unreadable" | "unreachable";

export interface Said {
  /** Beside the command, and which of the style sheet's marks it has. */
  readonly text: string;
  readonly mark: LiveState | "ended";
  /** What it means, for those who ask. */
  readonly title: string;
  /** What is wrong and what to do; null: nothing is. */
  readonly trouble: string | null;
}

const kAsItWas = "What is shown is as it was; the page goes on by itself";

export const kRefused = "The server does not know this browser: it was started anew with another token, or the browser has" +
  " lost its cookie. Open the whole address that it has printed, with ?token= in it. xylem view --live prints a new one" +
  " for a run that lives, xylem view FILE for one that has ended.";
export const kUnreachable = "The server does not answer. If xylem view has ended, start it again: what the run has stored is in its file.";

/** `why` is what the server has said, or nothing. */
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

/** The state that an answer to the question for news tells of, by its status; 0: there was none. */
export function stateOf(status: number): LiveState {
  if (status === 0) return "unreachable";
  if (status === 401) return "refused";
  if (status === 404) return "removed";
  // A slow server is one all the same.
  return status === 504 ? "polling" : "unreadable";
}
