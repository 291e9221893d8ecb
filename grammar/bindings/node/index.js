import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

const binding = typeof process.versions.bun === "string"
  // Support `bun build --compile` by being statically analyzable enough to find the .node file at build-time
  ? await import(`${root}/prebuilds/${process.platform}-${process.arch}/tree-sitter-xla.node`)
  : (await import("node-gyp-build")).default(root);

for (const [name, grammar] of Object.entries(binding)) {
  grammar.nodeTypeInfo = JSON.parse(readFileSync(`${root}/${name}/src/node-types.json`, "utf8"));
  for (const query of ["highlights", "injections", "folds", "tags"]) {
    grammar[`${query.toUpperCase()}_QUERY`] = readFileSync(`${root}/${name}/queries/${query}.scm`, "utf8");
  }
}

export const { xla_dump, hlo } = binding;
