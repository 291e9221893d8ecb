/**
 * Bundles the page of the memory map to the two files that the server and the extension show it with. They are
 * committed, so that the server needs no node to be installed.
 */

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, "..", "..", "server", "xla_lens", "render", "memory_map");

/** Writes `page.js` and `page.css` into a folder; the same sources give the same bytes. */
export async function buildMap(outdir = folder) {
  await build({
    absWorkingDir: here,
    entryPoints: [
      { in: "main.ts", out: "page" },
      { in: "page.css", out: "page" },
    ],
    outdir,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022", "chrome120", "firefox121", "safari17"],
    charset: "utf8",
    legalComments: "inline",
    logLevel: "warning",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildMap(process.argv[2]);
