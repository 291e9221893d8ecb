/** Opens dumps of the workspace, and finds places in them by text. */

import * as vscode from "vscode";

/** A document and a position in it. */
export interface Place {
  document: vscode.TextDocument;
  position: vscode.Position;
}

/** Find the only file in a folder of the workspace whose name has an ending. */
export async function find(folder: string, end: string): Promise<vscode.Uri> {
  const found = (await vscode.workspace.findFiles(`${folder}/*.txt`)).filter((uri) => uri.path.endsWith(end));
  if (found.length !== 1 || !found[0]) {
    throw new Error(`${found.length} files of ${folder} end with ${end}`);
  }
  return found[0];
}

/** Open the only file in a folder of the workspace whose name has an ending. */
export async function open(folder: string, end: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(await find(folder, end));
  await vscode.window.showTextDocument(document);
  return document;
}

/** Find the first occurrence of a text in a line that a document has once. */
export function at(document: vscode.TextDocument, line: string, words: string): Place {
  const rows = Array.from({ length: document.lineCount }, (_, row) => row).filter(
    (row) => document.lineAt(row).text === line,
  );
  if (rows.length !== 1 || rows[0] === undefined || !line.includes(words)) {
    throw new Error(`${JSON.stringify(line)} stands ${rows.length} times in ${document.fileName}`);
  }
  return { document, position: new vscode.Position(rows[0], line.indexOf(words)) };
}

/** The ending of a file name that distinguishes the files of a set. */
export function shortName(uri: vscode.Uri): string {
  return uri.path.slice(uri.path.lastIndexOf("/") + 1).replace(/^.*optimizations-?/, "");
}

/** Format a range as `name:line: text`. */
export async function textOf(uri: vscode.Uri, range: vscode.Range): Promise<string> {
  const document = await vscode.workspace.openTextDocument(uri);
  const text = document.getText(range).split("\n")[0] ?? "";
  return `${shortName(uri)}:${range.start.line + 1}: ${text.slice(0, 60)}`;
}
