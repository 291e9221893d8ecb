/** Explains the out-of-memory messages in logs, on a page of the server. */

import * as vscode from "vscode";

import { READ_SCHEMES } from "./documents";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";

/** What the messages that leave a program without memory contain; the server recognizes more. */
const MESSAGE =
  /RESOURCE_EXHAUSTED|[Rr]an out of memory|Out of memory (?:while|allocating)|Attempting to (?:reserve|allocate)|exceeding available|would exceed memory|exceeded scoped/;

/** Registers the lens above the first message of a log. */
export function registerOutOfMemory(): vscode.Disposable {
  const selector = [{ language: "plaintext" }, { language: "log" }, { pattern: "**/*.{log,err,out}" }];
  return vscode.languages.registerCodeLensProvider(
    READ_SCHEMES.flatMap((scheme) => selector.map((one) => ({ scheme, ...one }))),
    { provideCodeLenses },
  );
}

function provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
  const at = document.getText().search(MESSAGE);
  if (at < 0) return [];
  const { range } = document.lineAt(document.positionAt(at).line);
  const command = `${SECTION}.explainOutOfMemory`;
  return [new vscode.CodeLens(range, { title: "explain out-of-memory message", command, arguments: [document.uri] })];
}

/** Explains the messages in a log, or in the selection or the text of the active editor. */
export async function explain(server: Server, sets: Sets, given?: vscode.Uri): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = given ?? editor?.document.uri;
  if (!uri) throw new Error("Open the log of the program, or select its out-of-memory message.");
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  const selected = given || !editor || editor.selection.isEmpty ? undefined : editor.document.getText(editor.selection);
  // A file without a document is too large for the editor, and a document may have changes that are not saved.
  const isOnDisk = uri.scheme === "file" && !document?.isDirty;
  const text = selected ?? (isOnDisk ? undefined : document?.getText());
  const dump = sets.inView?.toString();
  const title = "Explaining the out-of-memory message";
  const argument = { uri: uri.toString(), ...(text !== undefined && { text }), ...(dump !== undefined && { dump }) };
  await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, async () =>
    server.execute("xla-lens.showOutOfMemory", argument),
  );
}
