// Reports each commit of the run, by the server's WebSocket. While there is no WebSocket, for example because of a
// proxy, it sends a request after each failed try to open one: after 0.5, 1, 2, 4 and then every 8 seconds.

import type { Commit } from "./answers.ts";
import { ApiError, ask } from "./api.ts";
import { retryAfter } from "./pace.ts";
import { stateOf, type LiveState } from "./states.ts";

export interface LiveOwner {
  committed(commit: Commit): void;
  /** `why` is the server's message; may be empty. */
  stateIs(state: LiveState, why: string): void;
}

type News = (Commit & { event: "commit" }) | { event: "unreadable"; error?: { status: number; message: string } };

export class Live {
  private socket: WebSocket | null = null;
  private tries = 0;
  private polled = -1;
  private timer: number | null = null;

  constructor(private readonly owner: LiveOwner) {}

  /** Starts. It runs for as long as the page is open. */
  start(): void {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(`${scheme}//${location.host}/api/v1/live`);
    this.socket.onopen = () => {
      this.tries = 0;
      this.owner.stateIs("live", "");
    };
    this.socket.onmessage = (message) => this.hear(String(message.data));
    this.socket.onclose = () => {
      this.socket = null;
      this.timer = setTimeout(() => this.again(), retryAfter(this.tries++)) as unknown as number;
      void this.poll();
    };
  }

  /** Tries now to reach the server again, instead of at the next try. */
  again(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.start();
  }

  private hear(text: string): void {
    const news = JSON.parse(text) as News;
    if (news.event === "commit") {
      this.owner.stateIs("live", "");
      this.owner.committed(news);
    } else {
      this.owner.stateIs(stateOf(news.error?.status ?? 503), news.error?.message ?? "");
    }
  }

  /** Whether the WebSocket is open. It then reports commits by itself. */
  private isBack(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends one request. Called once for each failed try to open the WebSocket. */
  private async poll(): Promise<void> {
    try {
      const { scope } = await ask("notices", { most: 1 }, AbortSignal.timeout(10_000));
      if (this.isBack()) return;
      this.owner.stateIs("polling", "");
      if (scope.run_end_ns === this.polled) return;
      this.polled = scope.run_end_ns;
      this.owner.committed({ number: 0, run_end_ns: scope.run_end_ns, has_ended: scope.has_ended });
    } catch (why) {
      if (this.isBack()) return;
      this.owner.stateIs(stateOf(why instanceof ApiError ? why.status : 0), (why as Error).message);
    }
  }
}
