/** Source lines in the form that the server sends: `/home/me/train.py:31 in step`. */

/** Return a source line without folders: `train.py:31 in step`. */
export function withoutFolders(source: string): string {
  return source.replace(/^(?:[A-Za-z]:)?[^:]*[\\/](?=[^\\/:]+:)/, "");
}

/**
 * Return a source line without folders in at most so many characters. Of a longer one, the start of the name of the file remains and the
 * number of the line: `big_prog….py:31`.
 */
export function shortSource(source: string, longest: number): string {
  const name = withoutFolders(source);
  const [, stem = "", end = ""] = /^(.*?)((?:\.\w+)?:\d+)$/.exec(name) ?? [];
  if (name.length <= longest || !end) return name;
  return `${stem.slice(0, Math.max(SHORTEST_STEM, longest - end.length - 1))}…${end}`;
}

/** How much of the name of a file remains at least. */
const SHORTEST_STEM = 4;

/** Return the path and the line of a source line, undefined if it has none. */
export function sourceLine(source: string): { path: string; line: number } | undefined {
  const found = /^(.+?):(\d+)(?: in .*)?$/s.exec(source);
  return found ? { path: found[1]!, line: Number(found[2]) } : undefined;
}
