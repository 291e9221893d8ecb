/** Which folder of the machine that compiled corresponds to which folder here. */

/**
 * Returns the entry of `xla-lens.sources.pathMapping` that maps the path of a file in a dump to its path here. It is as
 * general as possible: the longest common ending of both paths is left out, so that it also fits other files of that root.
 */
export function mappingFor(there: string, here: string): [there: string, here: string] {
  const [thereParts, hereParts] = [there.split(/[/\\]+/), here.split(/[/\\]+/)];
  const shorter = Math.min(thereParts.length, hereParts.length);
  let common = 0;
  while (common < shorter && thereParts.at(-1 - common) === hereParts.at(-1 - common)) common += 1;
  // A root needs a name: the empty one of `/` is that of an absolute path, but a relative path has none.
  if (common === thereParts.length) common -= 1;
  return [root(there, thereParts, common), root(here, hereParts, common)];
}

/** Returns the name of a file from its path on any machine. */
export function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

/** The path without its last parts, in its own spelling. */
function root(path: string, parts: readonly string[], common: number): string {
  const separator = path.includes("/") ? "/" : "\\";
  return parts.slice(0, parts.length - common).join(separator) || separator;
}
