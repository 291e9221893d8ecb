/** Recognizes dumps and HLO modules, by the file name patterns of `package.json` and by the first lines of a text. */

import { FIRST_LINES, FIRST_LINES_READ } from "../shared/protocol";

export const LANGUAGES = ["xla-dump", "hlo"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A language as `contributes.languages` of `package.json` declares it. */
export interface DeclaredLanguage {
  id: string;
  filenamePatterns: readonly string[];
}

/** Return the language of a file by its path, or undefined if no pattern matches its name. */
export function languageOfPath(path: string, declared: readonly DeclaredLanguage[]): Language | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const found = declared.find(({ filenamePatterns }) => filenamePatterns.some((pattern) => matches(name, pattern)));
  return LANGUAGES.find((language) => language === found?.id);
}

/** Return the language of a text by its first lines, or undefined if it is neither a dump nor a module. */
export function languageOfLines(lines: Iterable<string>): Language | undefined {
  let seen = 0;
  for (const line of lines) {
    if (!line.trim()) continue;
    const found = FIRST_LINES.find(([start]) => line.startsWith(start));
    seen += 1;
    if (found || seen === FIRST_LINES_READ) return found?.[1];
  }
  return undefined;
}

/** Whether a name matches a glob pattern that consists of literals, `*` and character classes. */
function matches(name: string, pattern: string): boolean {
  const source = pattern.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*");
  return new RegExp(`^${source}$`).test(name);
}
