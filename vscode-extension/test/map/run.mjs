/**
 * Runs the tests of the memory map: bundles each to a folder that is thrown away, and gives them to node. Then bundles the
 * page again, and holds it against the one that is committed.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { buildMap, bundleFolder } from "../../map/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = mkdtempSync(join(tmpdir(), "xla-lens-map-"));
try {
  const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: tests,
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    logLevel: "warning",
  });
  const files = readdirSync(outdir).map((name) => join(outdir, name));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
  const again = join(outdir, "page");
  mkdirSync(again);
  await buildMap(again);
  const outdated = readdirSync(again).filter((name) => {
    return !readFileSync(join(again, name)).equals(readFileSync(join(bundleFolder, name)));
  });
  if (outdated.length) console.error(`Not up to date, run "npm run build:map": ${outdated.join(", ")}`);
  process.exitCode = outdated.length ? 1 : (run.status ?? 1);
} finally {
  rmSync(outdir, { recursive: true });
}
