/** Which documents are dumps: by their names, as `package.json` says, and else by what their first lines say. */

import * as vscode from "vscode";

export const LANGUAGES = ["xla-dump", "hlo"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Over so many bytes the editor gives extensions no text. */
export const BIGGEST_BYTES = 50 * 1024 * 1024;

const NAMED = /-(?:buffer-assignment(?:-values)?|live-range|memory-usage-report)\.txt$/;
const NAMED_HLO = /(?:before|after)_optimizations(?:_(?:before|after)_buffer_assignment)?\.txt$/;

/** As the server knows the files, and to the same depth. */
const FIRST_LINES: readonly (readonly [RegExp, Language])[] = [
  [/^(?:BufferAssignment:|HloLiveRange |Memory Space: |Used values:|Total bytes used: |\*\*\* Begin )/, "xla-dump"],
  [/^memory_space_allocation_entries \{/, "xla-dump"],
  [/^HloModule /, "hlo"],
];
const LOOKED_AT = 20;

/** Whether a file is a dump by its name alone. */
export function isNamedAsDump(uri: vscode.Uri): boolean {
  return NAMED.test(uri.path);
}

/** Whether a document is a dump or an HLO module. */
export function isDump(document: vscode.TextDocument): boolean {
  return (LANGUAGES as readonly string[]).includes(document.languageId);
}

/** The dump or HLO module that a tab shows; undefined for others. Of one that is too big there is no document. */
export function dumpOf(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  if (!(tab?.input instanceof vscode.TabInputText)) return undefined;
  const { uri } = tab.input;
  if (uri.scheme !== "file") return undefined;
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  const isOne = document ? isDump(document) : NAMED.test(uri.path) || NAMED_HLO.test(uri.path);
  return isOne ? uri : undefined;
}

/** Gives documents of plain text whose first lines say that they are dumps their language. */
export function recogniseDumps(log: vscode.LogOutputChannel): vscode.Disposable {
  const recognise = (document: vscode.TextDocument) => {
    if (document.languageId !== "plaintext" || document.uri.scheme !== "file") return;
    const language = languageOf(document);
    if (!language) return;
    log.info(`${document.uri.fsPath} is ${language} by its first lines`);
    void vscode.languages.setTextDocumentLanguage(document, language);
  };
  vscode.workspace.textDocuments.forEach(recognise);
  return vscode.workspace.onDidOpenTextDocument(recognise);
}

function languageOf(document: vscode.TextDocument): Language | undefined {
  let seen = 0;
  for (let row = 0; row < Math.min(document.lineCount, LOOKED_AT) && seen < 3; row += 1) {
    const line = document.lineAt(row).text;
    if (!line.trim()) continue;
    seen += 1;
    const found = FIRST_LINES.find(([start]) => start.test(line));
    if (found) return found[1];
  }
  return undefined;
}
