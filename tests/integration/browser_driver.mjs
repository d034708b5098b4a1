// A browser that a test of another language drives: a line of JSON in, a line of JSON out.
//
//   node browser_driver.mjs PLAYWRIGHT_FOLDER CHROMIUM
//   {"page":1,"call":"page.click","args":["nav a"]}   ->  {"value":null} or {"error":"..."}
//
// "open" makes the page with that number, in a browser context of its own (cookies, storage and cache), and "close" ends
// it. Other calls are methods of Playwright's page, as a path, but for these: "troubles" gives what the page has complained
// of so far: scripts that failed, errors on the console, policies that were violated; "foreign" what it asked other
// hosts for; "transferred" how many bytes have come over the network so far, heads and news included, and how many
// answers are still on their way; "metrics" how much time the main thread has spent so far, in s (Chromium's own count).
// Ends with its input.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, chromium] = process.argv.slice(2);
const playwright = createRequire(`${folder}/`)("playwright-core").chromium;
const browser = await playwright.launch({
  executablePath: chromium,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"],
});

/** A page, and the calls that Playwright's page does not have. */
async function open() {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);

  const troubles = [];
  const foreign = [];
  page.on("pageerror", (error) => troubles.push(`script: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") foreign.push(request.url());
  });

  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const underWay = new Set();
  let bytes = 0;
  session.on("Network.requestWillBeSent", ({ requestId }) => underWay.add(requestId));
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    underWay.delete(requestId);
    bytes += encodedDataLength;
  });
  session.on("Network.loadingFailed", ({ requestId }) => underWay.delete(requestId));
  session.on("Network.webSocketFrameReceived", ({ response }) => bytes += response.payloadData.length + 4);

  let isMeasuring = false;
  async function metrics() {
    if (!isMeasuring) await session.send("Performance.enable", { timeDomain: "threadTicks" });
    isMeasuring = true;
    const { metrics } = await session.send("Performance.getMetrics");
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
  }

  return {
    page,
    own: {
      troubles: () => troubles,
      foreign: () => foreign,
      metrics,
      transferred: () => ({ bytes, open: underWay.size }),
      close: () => context.close(),
    },
  };
}

const pages = new Map();

async function perform({ page: number, call, args = [] }) {
  if (call === "open") {
    pages.set(number, await open());
    return null;
  }
  const { page, own } = pages.get(number);
  if (call === "close") pages.delete(number);
  if (call in own) return own[call]();
  const path = call.split(".").slice(1);
  const method = path.pop();
  const object = path.reduce((one, name) => one[name], page);
  const value = await object[method](...args);
  // What cannot be told in JSON (handles, responses) is not told.
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.getPrototypeOf(value) !== Object.prototype ? null : value;
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = { value: (await perform(JSON.parse(line))) ?? null };
  } catch (error) {
    reply = { error: String(error.message) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
await browser.close();
