/** Source lines in the form that the server sends: `/home/me/train.py:31 in step`. */

/** Return a source line without folders: `train.py:31 in step`. */
export function withoutFolders(source: string): string {
  return source.replace(/^(?:[A-Za-z]:)?[^:]*[\\/](?=[^\\/:]+:)/, "");
}
