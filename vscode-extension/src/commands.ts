/** The commands of the palette, the title of the editor and its context menu. */

import { basename } from "node:path";
import * as vscode from "vscode";
import type { Location } from "vscode-languageserver-types";

import { dumpOf } from "./documents";
import type { Maps } from "./maps";
import { human } from "../map/numbers";
import { goTo } from "./places";
import type { Overview } from "./protocol";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import { worstSpace } from "./statusBar";
import { Node, type Tree } from "./tree";

/** What the commands work with. */
export interface Parts {
  context: vscode.ExtensionContext;
  server: Server;
  sets: Sets;
  tree: Tree;
  maps: Maps;
  log: vscode.LogOutputChannel;
}

/** A command is about a file, which a menu tells, or else about the set in view. */
type Command = (parts: Parts, uri: vscode.Uri) => Promise<void>;

const ABOUT_A_SET: Readonly<Record<string, Command>> = {
  async goToPeak({ sets }, uri) {
    const peak = (await known(sets, uri)).printedPeak;
    await goToPlace(peak?.location, peak ? "The schedule of this dump is not there." : "This dump prints no peak.");
  },

  async goToTruePeak({ sets }, uri) {
    const worst = worstSpace(await known(sets, uri));
    await goToPlace(worst?.peakLocation, "This dump has no schedule with live ranges, and so no peak.");
  },

  async showLiveSetHere({ server, sets }, uri) {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.toString() === uri.toString()) {
      const { line, character } = editor.selection.active;
      const at = { uri: uri.toString(), position: { line, character } };
      const isShown = await server.ask("showLiveSet", at).then(() => true, () => false);
      if (isShown) return;
    }
    // The cursor is on nothing that has a step, or in a file that is too big for extensions.
    const step = await vscode.window.showInputBox({
      prompt: "The step of the schedule to show what is live at",
      value: `${Math.max(0, worstSpace(await known(sets, uri))?.peakStep ?? 0)}`,
      validateInput: (text) => (/^\d{1,15}$/.test(text) ? undefined : "A number from 0"),
    });
    if (step) await server.ask("showLiveSet", { uri: uri.toString(), step: Number(step) });
  },

  async showMemoryMap({ maps }, uri) {
    await maps.show(uri);
  },

  async saveMemoryMap({ server, sets }, uri) {
    const title = "Save the Memory Map as HTML";
    const progress = { location: vscode.ProgressLocation.Window, title };
    const told = () => Promise.all([known(sets, uri), server.ask<string>("report", { uri: uri.toString(), format: "html" })]);
    const [overview, page] = await vscode.window.withProgress(progress, told);
    const defaultUri = vscode.Uri.parse(overview.uri.replace(/(?:-[a-z-]+)?(?:\.txt)?$/, "-memory-map.html"));
    const target = page && (await vscode.window.showSaveDialog({ title, defaultUri, filters: { HTML: ["html"] } }));
    if (!target) return;
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(page));
    vscode.window.setStatusBarMessage(`$(check) The memory map is in ${basename(target.path)}.`, 5000);
  },

  async copyReport({ server }, uri) {
    const report = await server.ask<string>("report", { uri: uri.toString(), format: "markdown" });
    if (report === undefined) return;
    await vscode.env.clipboard.writeText(report);
    vscode.window.setStatusBarMessage("$(check) The report is in the clipboard, as Markdown.", 5000);
  },

  async openSibling({ sets }, uri) {
    const { files } = await known(sets, uri);
    const others = files.filter((file) => vscode.Uri.parse(file.uri).toString() !== uri.toString());
    if (!others.length) {
      void vscode.window.showInformationMessage("This dump has no other file.");
      return;
    }
    const choices = others.map((file) => ({ label: file.kind, description: human(file.sizeBytes), detail: basename(file.uri), file }));
    const choice = await vscode.window.showQuickPick(choices, { placeHolder: "The file of this dump to open" });
    if (choice) await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(choice.file.uri));
  },
};

/** Registers all commands. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const register = (name: string, run: (...given: never[]) => unknown) => vscode.commands.registerCommand(`${SECTION}.${name}`, run);
  return vscode.Disposable.from(
    ...Object.entries(ABOUT_A_SET).map(([name, run]) => register(name, (given?: unknown) => runAbout(parts, run, given))),
    register("goToLocation", (location: Location) => goTo(location)),
    register("refreshTree", () => parts.tree.refresh()),
    register("restartServer", () => parts.server.restart()),
    register("showLog", () => parts.log.show()),
    register("openSample", () => openSample(parts.context)),
  );
}

async function runAbout(parts: Parts, run: Command, argument: unknown): Promise<void> {
  const uri = uriOf(argument) ?? dumpOf(vscode.window.tabGroups.activeTabGroup.activeTab) ?? parts.sets.inView;
  if (!uri) {
    void vscode.window.showInformationMessage("Open a memory dump of XLA first, such as a file *-buffer-assignment.txt.");
    return;
  }
  try {
    await run(parts, uri);
  } catch (error) {
    void vscode.window.showErrorMessage(`XLA Lens: ${error instanceof Error ? error.message : error}`);
  }
}

/** What a menu tells a command: the file of the editor, or a module of the tree. */
function uriOf(argument: unknown): vscode.Uri | undefined {
  if (argument instanceof vscode.Uri) return argument;
  return argument instanceof Node ? argument.uri : undefined;
}

async function known(sets: Sets, uri: vscode.Uri): Promise<Overview> {
  const overview = await sets.overview(uri);
  if (!overview) throw new Error(`nothing is known of ${basename(uri.path)}; the log may say why`);
  return overview;
}

async function goToPlace(location: Location | null | undefined, otherwise: string): Promise<void> {
  if (location) await goTo(location);
  else void vscode.window.showInformationMessage(otherwise);
}

async function openSample({ extensionUri }: vscode.ExtensionContext): Promise<void> {
  const folder = vscode.Uri.joinPath(extensionUri, "media", "sample");
  const names = (await vscode.workspace.fs.readDirectory(folder)).map(([name]) => name);
  const first = names.find((name) => name.endsWith("-live-range.txt"));
  if (first) await vscode.commands.executeCommand("vscode.open", vscode.Uri.joinPath(folder, first));
}
