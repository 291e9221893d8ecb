/**
 * Bundles the page of the memory map to the two files that the server and the extension show it with. They are
 * committed, so that the server needs no node to be installed.
 */

import { appendFile, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
/** Where the two files are committed. */
export const bundleFolder = join(here, "..", "..", "server", "xla_lens", "render", "memory_map");

/** Writes `page.js` and `page.css` into a folder; the same sources give the same bytes. */
export async function buildMap(outdir = bundleFolder) {
  const { metafile } = await build({
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
    metafile: true,
    logLevel: "warning",
  });
  await appendFile(join(outdir, "page.js"), await licenses(Object.keys(metafile.inputs)));
}

/** A comment with the licenses of the packages that files come from: whoever passes on the page must pass them on. */
async function licenses(files) {
  const packages = files.map((file) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const texts = [];
  for (const name of [...new Set(packages)].filter(Boolean).sort()) {
    const directory = join(here, "..", "node_modules", name);
    const file = (await readdir(directory)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no license`);
    texts.push(`${name}\n\n${(await readFile(join(directory, file), "utf8")).trim()}`);
  }
  return `/*!\n${texts.join("\n\n").replaceAll("*/", "* /")}\n*/\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildMap(process.argv[2]);
