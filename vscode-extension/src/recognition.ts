/** What a file is by its name, and by its first lines: as the server knows files, and to the same depth. */

export const LANGUAGES = ["xla-dump", "hlo"] as const;
export type Language = (typeof LANGUAGES)[number];

const NAMED: readonly (readonly [RegExp, Language])[] = [
  [/-(?:buffer-assignment(?:-values)?|live-range|memory-usage-report)\.txt$/, "xla-dump"],
  [/(?:before|after)_optimizations(?:_(?:before|after)_buffer_assignment)?\.txt$/, "hlo"],
];

const FIRST_LINES: readonly (readonly [RegExp, Language])[] = [
  [/^(?:BufferAssignment:|HloLiveRange |Memory Space: |Used values:|Total bytes used: |\*\*\* Begin )/, "xla-dump"],
  [/^memory_space_allocation_entries \{/, "xla-dump"],
  [/^HloModule /, "hlo"],
];

/** Lines that are not blank. */
const LOOKED_AT = 3;

/** The language of a file by its path; undefined if that says nothing. */
export function languageOfPath(path: string): Language | undefined {
  return NAMED.find(([name]) => name.test(path))?.[1];
}

/** The language of a text by its first lines, which are given one by one; undefined if it is no dump. */
export function languageOfLines(lines: Iterable<string>): Language | undefined {
  let seen = 0;
  for (const line of lines) {
    if (!line.trim()) continue;
    const found = FIRST_LINES.find(([start]) => start.test(line));
    seen += 1;
    if (found || seen === LOOKED_AT) return found?.[1];
  }
  return undefined;
}
