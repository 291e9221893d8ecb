/** Navigation to locations, including those in files that are too large for extensions. */

import * as vscode from "vscode";

import type { Location } from "../shared/protocol";

/** The length of a range that surely fits into an editor: of a longer one, the editor would show the end. */
const LONGEST_SELECTION = 60;

/** Opens a location, and selects its range, with its start in view. */
export async function goTo({ uri, range }: Location, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
  const { start, end } = range;
  const isLong = start.line !== end.line || end.character - start.character > LONGEST_SELECTION;
  const last = isLong ? start : end;
  await show(uri, { ...options, selection: new vscode.Range(start.line, start.character, last.line, last.character) });
}

/**
 * Opens a document in the editor that the user's settings associate with it. Uses the editor's own command, since extensions
 * cannot open files over 50 MB.
 */
export async function show(uri: string, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(uri), options);
}
