/** Paths of files beside each other. */

/** Return what tells some paths apart: of each, what is not at the start or at the end of all. Empty if they are the same. */
export function distinctParts(paths: readonly string[]): string[] {
  // Folders, and what is between the dots of the name. Each part ends with what separates it from the next one.
  const parts = paths.map((path) => path.split(/(?<=\/)|(?<=\.)(?=[^/]*$)/));
  const [first = []] = parts;
  const differs = (at: number) => parts.some((path) => path.at(at) !== first.at(at));
  const start = first.findIndex((_, at) => differs(at));
  const end = first.findIndex((_, at) => differs(-1 - at));
  if (start < 0) return paths.map(() => "");
  return parts.map((path) =>
    path
      .slice(start, -end || undefined)
      .join("")
      .replace(/[/.]$/, ""),
  );
}
