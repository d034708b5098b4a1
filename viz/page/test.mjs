// Runs test/*.test.ts, which need no browser:
//
//   node test.mjs SOURCES
//
// Run it in a folder with node_modules; SOURCES (a path) must be below this folder.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const sources = process.argv[2];
const { build } = createRequire(resolve("package.json"))("esbuild");
const bundled = mkdtempSync(resolve("bundled-tests-"));
try {
  const tests = readdirSync(join(sources, "test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((name) => join(sources, "test", name)),
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: bundled,
    outExtension: { ".js": ".mjs" },
    preserveSymlinks: true,
    logLevel: "warning",
  });
  const files = readdirSync(bundled).map((name) => join(bundled, name));
  const run = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(bundled, { recursive: true });
}
