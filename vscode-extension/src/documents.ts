/** Which documents are dumps: by their names, as `package.json` says, and else by what their first lines say; and pages. */

import * as vscode from "vscode";

import { LANGUAGES, languageOfLines, languageOfPath } from "./recognition";

/** Over so many bytes the editor gives extensions no text. */
export const BIGGEST_BYTES = 50 * 1024 * 1024;

/** Lines at the start that may be blank or tell what a text is. */
const HEAD_LINES = 20;

/** The scheme of pages, which the server makes: what is live at a step, and more. */
export const PAGE_SCHEME = "xla-lens";

/** Whether a document is a dump, an HLO module, or a page that tells of one. */
export function isDump({ languageId, uri }: vscode.TextDocument): boolean {
  return uri.scheme === PAGE_SCHEME || (LANGUAGES as readonly string[]).includes(languageId);
}

/** The dump, HLO module or page that a tab shows; undefined for others. Of a file that is too big there is no document. */
export function dumpOf(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  if (!(tab?.input instanceof vscode.TabInputText)) return undefined;
  const { uri } = tab.input;
  if (uri.scheme === PAGE_SCHEME) return uri;
  if (uri.scheme !== "file") return undefined;
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  return (document ? isDump(document) : languageOfPath(uri.path)) ? uri : undefined;
}

/** Gives documents of plain text whose first lines say that they are dumps their language. */
export function recogniseDumps(log: vscode.LogOutputChannel): vscode.Disposable {
  const recognise = (document: vscode.TextDocument) => {
    if (document.languageId !== "plaintext" || document.uri.scheme !== "file") return;
    const language = languageOfLines(head(document));
    if (!language) return;
    log.info(`${document.uri.fsPath} is ${language} by its first lines`);
    void vscode.languages.setTextDocumentLanguage(document, language);
  };
  vscode.workspace.textDocuments.forEach(recognise);
  return vscode.workspace.onDidOpenTextDocument(recognise);
}

function* head(document: vscode.TextDocument): Iterable<string> {
  for (let row = 0; row < Math.min(document.lineCount, HEAD_LINES); row += 1) yield document.lineAt(row).text;
}
