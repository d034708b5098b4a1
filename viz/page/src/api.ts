// Sends requests to the server. A failure is an ApiError with a message for people.

import type { Answers } from "./answers.ts";
import { kRefused, kUnreachable } from "./states.ts";

export type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

export class ApiError extends Error {
  /** The HTTP status, or 0 if there was no answer. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** The address of a request. Parameters that are null or undefined are left out. */
export function address(name: string, parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || value === undefined) continue;
    query.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  const text = query.toString();
  return `/api/v1/${name}${text === "" ? "" : `?${text}`}`;
}

/** The error that a reply with this status and text stands for. */
function errorOf(status: number, text: string): ApiError {
  if (status === 401) {
    return new ApiError(status, kRefused);
  }
  try {
    const message = (JSON.parse(text) as { error?: { message?: string } }).error?.message;
    if (message !== undefined) return new ApiError(status, message);
  } catch {
    // Not JSON: a proxy between the page and the server has answered.
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
