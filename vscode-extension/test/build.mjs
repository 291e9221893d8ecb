/** Bundles the tests that run in the extension host: `node test/build.mjs FILE`. */

import { build } from "esbuild";

await build({
  entryPoints: [new URL("host/index.ts", import.meta.url).pathname],
  outfile: process.argv[2],
  bundle: true,
  external: ["vscode"],
  format: "cjs",
  platform: "node",
  sourcemap: "inline",
});
