/**
 * The code actions at the cursor, as a list to choose from: VS Code itself offers none in a read-only editor, and dumps are
 * read-only.
 */

import * as vscode from "vscode";

import { SECTION } from "./server";

/** Lets the user choose one of the actions at a place, by default the cursor. */
export async function showActions(uri?: string, position?: { line: number; character: number }): Promise<void> {
  const actions = await actionsAt(placeOf(uri, position));
  const items = actions.map((action) => ({ label: action.title, action }));
  if (!items.length) {
    void vscode.window.showInformationMessage("There are no actions at the cursor: it is in no dump.");
    return;
  }
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Select an action" });
  if (chosen) await run(chosen.action);
}

/** Shows the history of the allocation at the cursor, or of that of the value there. */
export async function showAllocationHistory(): Promise<void> {
  const actions = await actionsAt(placeOf());
  const found = actions.find(({ command }) => command?.command === `${SECTION}.showAllocationHistory`);
  if (found) await run(found);
  else void vscode.window.showInformationMessage("Put the cursor on a value or an allocation first.");
}

interface Place {
  uri: vscode.Uri;
  range: vscode.Range;
}

function placeOf(uri?: string, position?: { line: number; character: number }): Place | undefined {
  if (uri !== undefined && position) {
    const at = new vscode.Position(position.line, position.character);
    return { uri: vscode.Uri.parse(uri), range: new vscode.Range(at, at) };
  }
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri, range: editor.selection };
}

/** The actions of this extension, which all run a command. */
async function actionsAt(place: Place | undefined): Promise<vscode.CodeAction[]> {
  if (!place) return [];
  const given = [place.uri, place.range];
  const found = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", ...given);
  return found.filter(({ command }) => command?.command.startsWith(`${SECTION}.`));
}

async function run({ command }: vscode.CodeAction): Promise<void> {
  if (command) await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
}
