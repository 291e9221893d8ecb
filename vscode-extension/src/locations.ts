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
  const target = vscode.Uri.parse(uri);
  const { activeTabGroup } = vscode.window.tabGroups;
  // Extensions learn of a click into the memory map a moment after VS Code, which would then cover the map.
  const free = isView(activeTabGroup) ? freeColumn() : activeTabGroup.viewColumn;
  const viewColumn = columnOf(target, options.viewColumn) ?? free;
  await vscode.commands.executeCommand("vscode.open", target, { ...options, viewColumn });
}

/** The column in which a document is open already, unless a certain column is wanted. */
function columnOf(uri: vscode.Uri, wanted?: vscode.ViewColumn): vscode.ViewColumn | undefined {
  const isBeside = wanted === vscode.ViewColumn.Beside;
  if (wanted !== undefined && !isBeside) return wanted;
  const { all, activeTabGroup } = vscode.window.tabGroups;
  const groups = [activeTabGroup, ...all].filter((group) => !(isBeside && group === activeTabGroup));
  const shows = ({ input }: vscode.Tab) =>
    (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) &&
    input.uri.toString() === uri.toString();
  return groups.find(({ tabs }) => tabs.some(shows))?.viewColumn ?? wanted;
}

/** The column for what would otherwise cover the active tab: another one, which shows no memory map either. */
export function freeColumn(): vscode.ViewColumn {
  const { all, activeTabGroup } = vscode.window.tabGroups;
  return all.find((group) => group !== activeTabGroup && !isView(group))?.viewColumn ?? vscode.ViewColumn.Beside;
}

/** Whether a view, such as the memory map, fills a group of tabs. */
function isView({ activeTab }: vscode.TabGroup): boolean {
  return activeTab?.input instanceof vscode.TabInputWebview;
}
