// Asks the server. A failure is an ApiError, whose message says what to do.

import type { Answers } from "./answers.ts";
import { kRefused, kUnreachable } from "./states.ts";

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

export class ApiError extends Error {
  /** HTTP's, or 0 when there was no answer at all. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** What the server's relatives are called; null and undefined are left out. */
export function address(name: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    query.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  const text = query.toString();
  return `/api/v1/${name}${text === "" ? "" : `?${text}`}`;
}

/** What a reply that is no answer says. */
function errorOf(status: number, text: string): ApiError {
  if (status === 401) {
    return new ApiError(status, kRefused);
  }
  try {
    const message = (JSON.parse(text) as { error?: { message?: string } }).error?.message;
    if (message !== undefined) return new ApiError(status, message);
  } catch {
    // No JSON: something between us and the server has answered.
  }
  return new ApiError(status, `The server answered with status ${status}.`);
}

/** Throws ApiError, or what `signal` throws when it is aborted. */
export async function ask<Name extends keyof Answers>(
    name: Name, parameters: Parameters, signal: AbortSignal): Promise<Answers[Name]> {
  let reply: Response;
  let text: string;
  try {
    reply = await fetch(address(name, parameters), { signal, headers: { Accept: "application/json" } });
    text = await reply.text();
  } catch (why) {
    if (signal.aborted) throw why;
    throw new ApiError(0, kUnreachable);
  }
  if (!reply.ok) throw errorOf(reply.status, text);
  return JSON.parse(text) as Answers[Name];
}
