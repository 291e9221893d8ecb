/** Which documents and tabs show dumps, HLO modules or pages of the server. */

import * as vscode from "vscode";

import { type DeclaredLanguage, LANGUAGES, languageOfLines, languageOfPath } from "./recognition";

/** The size above which the editor gives extensions no document. */
export const MAX_DOCUMENT_BYTES = 50 * 1024 * 1024;

/** The number of lines at the start of a document that are read to recognize it, blank lines included. */
const HEAD_LINES = 20;

/** The scheme of the pages that the server makes, such as the live set at a step. */
export const PAGE_SCHEME = "xla-lens";

/** The schemes of the documents that the server reads: files, and texts that were pasted into a new document. */
export const READ_SCHEMES = ["file", "untitled"];

/** Whether a document is a dump, an HLO module or a page. */
export function isDump({ languageId, uri }: vscode.TextDocument): boolean {
  return uri.scheme === PAGE_SCHEME || (LANGUAGES as readonly string[]).includes(languageId);
}

/**
 * The dump, HLO module or page that a tab shows, undefined for other tabs. Files without a document, because they are too
 * large, are recognized by name.
 */
export function dumpInTab(tab: vscode.Tab | undefined): vscode.Uri | undefined {
  // A rendered page is in an editor of its own.
  if (!(tab?.input instanceof vscode.TabInputText || tab?.input instanceof vscode.TabInputCustom)) return undefined;
  const { uri } = tab.input;
  if (uri.scheme === PAGE_SCHEME) return uri;
  if (!READ_SCHEMES.includes(uri.scheme)) return undefined;
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  return (document ? isDump(document) : languageOfPath(uri.path, declaredLanguages())) ? uri : undefined;
}

/** Whether a tab shows a text that is in no dump, but new or in the language of dumps. */
export function looksLikeDump({ input }: vscode.Tab): boolean {
  if (!(input instanceof vscode.TabInputText)) return false;
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === input.uri.toString());
  return document !== undefined && (document.isUntitled || isDump(document));
}

/**
 * Sets the language of documents whose first lines are those of a dump or an HLO module: of plain texts when they are opened, and of new
 * documents when something is pasted into them, whatever VS Code takes that for.
 */
export function recognizeDumps(log: vscode.LogOutputChannel): vscode.Disposable {
  const recognize = async (document: vscode.TextDocument) => {
    const isNew = document.uri.scheme === "untitled" && !isDump(document);
    if (!isNew && (document.languageId !== "plaintext" || document.uri.scheme !== "file")) return;
    const head = document.getText(new vscode.Range(0, 0, HEAD_LINES, 0));
    const language = languageOfLines(head.split("\n"));
    if (!language) return;
    log.info(`recognized ${document.uri.fsPath} as ${language} by its first lines`);
    await vscode.languages.setTextDocumentLanguage(document, language);
    // Like the files that are recognized by their names (`files.readonlyInclude`).
    const isShown = vscode.window.activeTextEditor?.document.uri.toString() === document.uri.toString();
    if (!isNew && isShown) await vscode.commands.executeCommand(READ_ONLY);
  };
  vscode.workspace.textDocuments.forEach((document) => void recognize(document));
  return vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument((document) => void recognize(document)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.isUntitled) void recognize(document);
    }),
  );
}

/** The command that makes the active editor read-only. */
const READ_ONLY = "workbench.action.files.setActiveEditorReadonlyInSession";

function declaredLanguages(): readonly DeclaredLanguage[] {
  return vscode.extensions.getExtension("xla-lens.xla-lens")?.packageJSON.contributes.languages ?? [];
}
