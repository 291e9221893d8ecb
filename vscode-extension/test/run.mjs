/**
 * Runs the tests that need no editor: `node test/run.mjs [FOLDER...]`. Also rebuilds the memory map and the manifest, and fails if
 * the committed files are stale.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

import { manifest } from "../manifest.mjs";
import { buildMap, bundleFolder } from "../map/build.mjs";

process.chdir(join(import.meta.dirname, ".."));
const folders = process.argv.length > 2 ? process.argv.slice(2) : ["map", "unit"];
const entryPoints = folders.flatMap((folder) =>
  readdirSync(join("test", folder))
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", folder, name)),
);
const outdir = mkdtempSync(join("node_modules", ".test-"));
try {
  const [tests, page] = [join(outdir, "tests"), join(outdir, "page")];
  await build({
    entryPoints,
    outdir: tests,
    outbase: "test",
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".js"));
  const command = ["--enable-source-maps", "--test", "--test-reporter=spec", ...files.map((name) => join(tests, name))];
  const { status } = spawnSync(process.execPath, command, { stdio: "inherit" });
  await buildMap(join(process.cwd(), page));
  const stale = readdirSync(page).filter(
    (name) => !readFileSync(join(page, name)).equals(readFileSync(join(bundleFolder, name))),
  );
  if (manifest() !== readFileSync("package.json", "utf8")) stale.push("package.json");
  if (stale.length) console.error(`Stale: ${stale.join(", ")}. Run: npm run build`);
  process.exitCode = stale.length ? 1 : (status ?? 1);
} finally {
  rmSync(outdir, { recursive: true });
}
