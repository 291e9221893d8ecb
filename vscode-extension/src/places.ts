/** Going to places of files, of those that are too big for extensions, too. */

import * as vscode from "vscode";
import type { Location } from "vscode-languageserver-types";

/** Shows a place. The editor itself opens the file: extensions cannot open one of more than 50 MB. */
export async function goTo(location: Location, options: vscode.TextDocumentShowOptions = {}): Promise<void> {
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(location.uri), { ...options, selection: rangeOf(location) });
}

function rangeOf({ range: { start, end } }: Location): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
