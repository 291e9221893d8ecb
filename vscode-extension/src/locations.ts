/** Navigation to locations, including those in files that are too large for extensions. */

import * as vscode from "vscode";

import type { Location } from "../shared/protocol";

/** Opens a location. Uses the editor's own command, since extensions cannot open files over 50 MB. */
export async function goTo(location: Location, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
  const { start, end } = location.range;
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(location.uri), { ...options, selection });
}
