// Tells of each commit of the run: by the server's WebSocket, and while that cannot be had (a proxy, a
// server that was started anew) by asking every other second.

import type { Commit } from "./answers.ts";
import { ask } from "./api.ts";
import { retryAfter } from "./pace.ts";

/** How news comes now. "unreadable": the server is there, the run's file is not. */
export type LiveState = "connecting" | "live" | "polling" | "unreadable" | "unreachable";

export interface LiveOwner {
  committed(commit: Commit): void;
  stateIs(state: LiveState): void;
}

export class Live {
  private socket: WebSocket | null = null;
  private tries = 0;
  private polled = -1;

  constructor(private readonly owner: LiveOwner) {}

  /** From now on, for as long as the page is open. */
  start(): void {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/api/v1/live`);
    this.socket.onopen = () => {
      this.tries = 0;
      this.owner.stateIs("live");
    };
    this.socket.onmessage = (message) => this.hear(String(message.data));
    this.socket.onclose = () => {
      this.socket = null;
      setTimeout(() => this.start(), retryAfter(this.tries++));
      void this.poll();
    };
  }

  private hear(text: string): void {
    const news = JSON.parse(text) as Commit & { event: string };
    this.owner.stateIs(news.event === "commit" ? "live" : "unreadable");
    if (news.event === "commit") this.owner.committed(news);
  }

  /** Once for each try that failed: the tries are the clock. */
  private async poll(): Promise<void> {
    try {
      const { scope } = await ask("notices", { most: 1 }, AbortSignal.timeout(10_000));
      this.owner.stateIs("polling");
      if (scope.run_end_ns === this.polled) return;
      this.polled = scope.run_end_ns;
      this.owner.committed({ number: 0, run_end_ns: scope.run_end_ns, has_ended: scope.has_ended });
    } catch {
      this.owner.stateIs("unreachable");
    }
  }
}
