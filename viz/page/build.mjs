// Bundles the page and writes it as C++ source, which becomes part of the program:
//
//   node build.mjs SOURCES OUT.cc OUT.d
//
// Run it in a folder with node_modules; SOURCES (a path) must be below this folder. The name of each script and style
// sheet contains a hash of its contents, so browsers may keep the file for ever. OUT.d lists the sources of OUT.cc in
// the syntax of make.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

const [sources, out, dependencies] = process.argv.slice(2);
const { build } = createRequire(resolve("package.json"))("esbuild");

/** Maximum size of the files that a browser needs to show the page, compressed. */
const kMaxBytes = 300 * 1024;

const bundled = await build({
  entryPoints: { page: join(sources, "src/main.ts") },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  outdir: "bundled",
  write: false,
  metafile: true,
  preserveSymlinks: true,
  legalComments: "none",  // They are in licences.txt.
  logLevel: "warning",
});

function licences() {
  const names = new Set();
  for (const input of Object.keys(bundled.metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) names.add(found[1]);
  }
  const texts = [...names].sort().map((name) => {
    const folder = join("node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "LICENCE"].map((one) => join(folder, one)).find(existsSync);
    if (file === undefined) throw new Error(`${name} has no licence file; what is part of the page must have one`);
    return `${name} ${version} (${license})\n\n${readFileSync(file, "utf8").trim()}\n`;
  });
  return `What is part of this page besides xylem:\n\n${texts.join("\n----\n\n")}`;
}

const files = [];
function add(path, type, keeps, content) {
  files.push({ path, type, keeps, content: gzipSync(content, { level: 9 }) });
}

let page = readFileSync(join(sources, "index.html"), "utf8");
for (const { path, contents } of bundled.outputFiles) {
  const extension = path.endsWith(".css") ? "css" : "js";
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 16);
  const name = `page-${hash}.${extension}`;
  page = page.replace(`@${extension.toUpperCase()}@`, name);
  add(`/${name}`, extension === "css" ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8", true, contents);
}
add("/", "text/html; charset=utf-8", false, page);
const toShow = files.reduce((sum, file) => sum + file.content.length, 0);
if (toShow > kMaxBytes) throw new Error(`the page has ${toShow} bytes, compressed; it may have ${kMaxBytes}`);
add("/licences.txt", "text/plain; charset=utf-8", false, licences());

function literal(content) {
  const lines = [];
  for (let at = 0; at < content.length; at += 32) {
    const escaped = [...content.subarray(at, at + 32)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`);
    lines.push(`    "${escaped.join("")}"`);
  }
  return lines.join("\n");
}
writeFileSync(out, `// Written by viz/page/build.mjs.
#include "viz/page.h"

namespace xylem::viz {
namespace {
${files.map((file, number) => `constexpr char kFile${number}[] =\n${literal(file.content)};`).join("\n")}
constexpr PageFile kFiles[] = {
${files.map((file, number) =>
    `    {"${file.path}", "${file.type}", ${file.keeps}, {kFile${number}, sizeof kFile${number} - 1}},`).join("\n")}
};
}  // namespace

std::span<const PageFile> page_files() { return kFiles; }

}  // namespace xylem::viz
`);
const inputs = Object.keys(bundled.metafile.inputs).map((input) => resolve(input).replaceAll(" ", "\\ "));
writeFileSync(dependencies, `${out}: ${inputs.join(" ")}\n`);
console.log(`page: ${toShow} bytes to show, compressed`);
