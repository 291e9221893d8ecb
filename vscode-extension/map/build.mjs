/**
 * Bundles the page of the memory map into two files of the server, which the extension uses as well. They are committed, so
 * that installing the server does not need Node.
 */

import { appendFile, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
/** The folder of the committed files. */
export const bundleFolder = join(here, "..", "..", "server", "xla_lens", "render", "memory_map");

/** Write `page.js` and `page.css` into a folder. Builds are reproducible. */
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

/** Return a comment with the licenses of the bundled packages, which have to be distributed with the page. */
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
