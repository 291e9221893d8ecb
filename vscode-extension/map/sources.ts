/** Lines of a program, as the server tells them: `/home/me/train.py:31 in step`. */

/** A source without the folders of its file: `train.py:31 in step`. */
export function withoutFolders(source: string): string {
  return source.replace(/^(?:[A-Za-z]:)?[^:]*[\\/](?=[^\\/:]+:)/, "");
}
