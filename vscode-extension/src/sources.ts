/** Navigation to the lines of the program that a dump names by the paths of the machine that compiled it. */

import { dirname } from "node:path";
import * as vscode from "vscode";

import type { SourceArguments } from "../shared/protocol";
import { goTo } from "./locations";
import { mappingFor, nameOf } from "./pathMapping";

const SETTING = "sources.pathMapping";

/** Whether the argument of `xla-lens.goTo` is a source line, rather than a location. */
export function isSourceLine(argument: unknown): argument is SourceArguments {
  return typeof argument === "object" && argument !== null && "path" in argument && typeof argument.path === "string";
}

/** Whether the server answered that the source file of `xla-lens.goTo` is not here. */
export function isSourceMissing(error: unknown): boolean {
  const data = error instanceof Error && "data" in error ? error.data : undefined;
  return typeof data === "object" && data !== null && "source" in data;
}

/** Returns the URI of a command, without characters that end a link in Markdown or an attribute in HTML. */
export function commandUri(name: string, argument: unknown): string {
  const escaped = (one: string) => `%${one.charCodeAt(0).toString(16)}`;
  return `command:xla-lens.${name}?${encodeURIComponent(JSON.stringify([argument])).replaceAll(/[()']/g, escaped)}`;
}

/** Says that a source file is not here. If the user locates it, remembers where its root is, and goes to the line. */
export async function locate(source: SourceArguments): Promise<void> {
  const name = nameOf(source.path);
  const message = `${name} is not in this workspace. The dump names it ${source.path}.`;
  const choice = await vscode.window.showWarningMessage(message, "Locate File…");
  const found = choice && (await pickFile(name));
  if (!found) return;
  await remember(source.path, found);
  const start = { line: Math.max((source.line ?? 1) - 1, 0), character: source.character ?? 0 };
  await goTo({ uri: found.toString(), range: { start, end: start } });
}

async function pickFile(name: string): Promise<vscode.Uri | undefined> {
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "*";
  const filters = { [name]: [extension], "All files": ["*"] };
  const [file] = (await vscode.window.showOpenDialog({ title: `Locate ${name}`, openLabel: "Locate", filters })) ?? [];
  return file;
}

/** Adds where a file is to the setting: of the workspace, or of the user if the workspace has no settings that count. */
async function remember(path: string, found: vscode.Uri): Promise<void> {
  const [there, here] = mappingFor(path, found.fsPath);
  const configuration = vscode.workspace.getConfiguration("xla-lens");
  const known = configuration.inspect<Record<string, string>>(SETTING);
  const isOfWorkspace = vscode.workspace.isTrusted && vscode.workspace.workspaceFolders !== undefined;
  const mapping = { ...(isOfWorkspace ? known?.workspaceValue : known?.globalValue), [there]: here };
  const target = isOfWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await configuration.update(SETTING, mapping, target);
  vscode.window.setStatusBarMessage(`$(check) Sources in ${there} are read from ${dirname(`${here}/x`)}`, 5000);
}
