import assert from "node:assert/strict";
import { test } from "node:test";

import { said, stateOf, type LiveState } from "../src/states.ts";

test("an answer that is none tells what is wrong", () => {
  assert.equal(stateOf(0), "unreachable");
  assert.equal(stateOf(401), "refused");
  assert.equal(stateOf(404), "removed");
  for (const status of [400, 403, 500, 503]) assert.equal(stateOf(status), "unreadable");
  assert.equal(stateOf(504), "polling");
});

test("each trouble is one of its own, with a sentence that says what to do", () => {
  const states: LiveState[] = ["refused", "removed", "unreadable", "unreachable"];
  const all = states.map((state) => said(state, "", false));
  assert.equal(new Set(all.map((one) => one.text)).size, states.length);
  assert.equal(new Set(all.map((one) => one.trouble)).size, states.length);
  assert.match(all[0]!.trouble!, /xylem view --live prints a new one/);
  assert.match(said("removed", "run.db: No such file or directory", false).trouble!, /\(run\.db: No such file or directory\)/);
  assert.match(all[3]!.trouble!, /start it again/);
});

test("that a run has ended hides no trouble, and is none", () => {
  assert.equal(said("live", "", true).text, "ended");
  assert.equal(said("polling", "", true).trouble, null);
  assert.equal(said("unreachable", "", true).text, "no server");
  assert.equal(said("live", "", false).trouble, null);
});
