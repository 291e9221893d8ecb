/**
 * Bundles the page of the memory map into two files of the server, which the extension uses as well. They are committed, so
 * that installing the server does not need Node.
 */

import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
/** The folder of the committed files. */
export const bundleFolder = join(here, "..", "..", "server", "xla_lens", "memory_map");

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
  const comment = licenses(Object.keys(metafile.inputs)).replaceAll("*/", "* /");
  appendFileSync(join(outdir, "page.js"), `/*!\n${comment}\n*/\n`);
}

/** Return the licenses of the bundled packages, which have to be distributed with them, from the paths of the bundled files. */
export function licenses(files) {
  const packages = files.map((file) => /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]);
  const texts = [...new Set(packages)]
    .filter(Boolean)
    .sort()
    .map((name) => {
      const folder = join(here, "..", "node_modules", name);
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      if (!file) throw new Error(`${name} has no license`);
      return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
    });
  return texts.join("\n\n");
}
