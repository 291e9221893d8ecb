/** Source lines in the form that the server sends: `/home/me/train.py:31 in step`. */

/** Return a source line without folders: `train.py:31 in step`. */
export function withoutFolders(source: string): string {
  return source.replace(/^(?:[A-Za-z]:)?[^:]*[\\/](?=[^\\/:]+:)/, "");
}

/** Return the path and the line of a source line, undefined if it has none. */
export function sourceLine(source: string): { path: string; line: number } | undefined {
  const found = /^(.+?):(\d+)(?: in .*)?$/s.exec(source);
  return found ? { path: found[1]!, line: Number(found[2]) } : undefined;
}
