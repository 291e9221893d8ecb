/** Runs the tests that need no editor: `node test/run.mjs [FOLDER]`. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
process.chdir(root);
const folders = process.argv.length > 2 ? process.argv.slice(2) : ["map", "unit"];
const entryPoints = folders.flatMap((folder) =>
  readdirSync(join("test", folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", folder, name)),
);
// Beside the packages that they import.
const outdir = mkdtempSync(join("node_modules", ".test-"));
try {
  await build({ entryPoints, outdir, bundle: true, platform: "node", format: "cjs", sourcemap: "inline", logLevel: "warning" });
  const tests = readdirSync(outdir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.js"));
  const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...tests.map((name) => join(outdir, name))], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  rmSync(outdir, { recursive: true });
}
