/** Builds the extension: `node build.mjs` bundles the code, `node build.mjs package [TARGET]` also builds the VSIX. */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

import { manifest } from "./manifest.mjs";
import { buildMap, licenses } from "./map/build.mjs";

const [what = "code", target = "linux-x64", ...rest] = process.argv.slice(2);

/** The sample dump of the walkthrough, copied from the tests. */
const SAMPLE = join("media", "sample");

process.chdir(import.meta.dirname);
const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
writeFileSync(join("dist", "ThirdPartyNotices.txt"), `${licenses(Object.keys(metafile.inputs))}\n`);
await buildMap();
writeFileSync("package.json", manifest());
if (what === "package") {
  const own = join("..", ".venv", "bin", "python");
  const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
  for (const name of ["LICENSE", "CHANGELOG.md"]) cpSync(join("..", name), name);
  rmSync(SAMPLE, { recursive: true, force: true });
  cpSync(join("..", "tests", "dumps", "cpu-jaxlib0.12.0.1", "mlp_train"), SAMPLE, { recursive: true });
  run(python, "bundle_server.py", "--target", target, ...rest);
  const { repository } = JSON.parse(readFileSync("package.json", "utf8"));
  // A marketplace shows the README away from its images.
  const at = (kind) => `${repository}/${kind}/HEAD/vscode-extension`;
  const links = repository
    ? ["--baseContentUrl", at("blob"), "--baseImagesUrl", at("raw")]
    : ["--allow-missing-repository", "--no-rewrite-relative-links"];
  const options = ["--no-dependencies", ...links];
  const vsce = join("node_modules", "@vscode", "vsce", "vsce");
  // A package for no platform in particular runs on those that have none of their own.
  if (target !== "universal") options.push("--target", target);
  run(process.execPath, vsce, "package", ...options, "--out", `dist/xla-lens-${target}.vsix`);
}

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) {
    console.error(error?.message ?? `${command} failed with status ${status}`);
    process.exit(1);
  }
}
