/** Folders that tell files of the same name apart. */

/**
 * For each of several paths, the shortest run of folders that no other path has, nearest to the file. A path whose folders
 * are all in another path is named by all its folders, and by the start of its file name where the folders are equal.
 */
export function tellingFolders(paths: readonly string[]): string[] {
  const split = paths.map((path) => {
    const parts = path.split("/");
    return { folders: parts.slice(0, -1), file: parts.at(-1) ?? "" };
  });
  const whole = split.map(({ folders }) => `/${folders.join("/")}/`);
  return split.map(({ folders, file }, index) => {
    const isUnique = (run: string) => whole.every((other, at) => at === index || !other.includes(`/${run}/`));
    for (let length = 1; length <= folders.length; length += 1) {
      for (let end = folders.length; end >= length; end -= 1) {
        const run = folders.slice(end - length, end).join("/");
        if (isUnique(run)) return run;
      }
    }
    const hasTwin = whole.some((other, at) => at !== index && other === whole[index]);
    const stem = hasTwin ? [file.split(".")[0] ?? ""] : [];
    return [...folders.slice(hasTwin ? -1 : 0), ...stem].join("/");
  });
}
