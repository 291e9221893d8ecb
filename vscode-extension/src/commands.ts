/** The commands of the palette, the editor title, the context menus and the tree. */

import { basename } from "node:path";
import * as vscode from "vscode";

import { human } from "../shared/numbers";
import type { Location, Overview } from "../shared/protocol";
import { mainSpace } from "../shared/spaces";
import type { Comparing } from "./comparing";
import { dumpAtCursor, dumpInTab } from "./documents";
import { ValueFinder } from "./findValue";
import { goTo } from "./locations";
import type { Maps } from "./maps";
import { runPython } from "./running";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import type { SourceLines } from "./sourceLines";
import { isSourceLine } from "./sources";
import type { Tree } from "./tree";
import { Node } from "./treeNodes";

/** What the commands work with. */
export interface Parts {
  context: vscode.ExtensionContext;
  server: Server;
  sets: Sets;
  tree: Tree;
  maps: Maps;
  comparing: Comparing;
  sourceLines: SourceLines;
  log: vscode.LogOutputChannel;
}

/** A command about a dump set: that of the file or module in whose menu the user chose it, else the set in view. */
type SetCommand = (parts: Parts, uri: vscode.Uri) => Promise<void>;

const STATUS_MS = 5000;

const SET_COMMANDS: Readonly<Record<string, SetCommand>> = {
  async goToPeak({ sets }, uri) {
    const peak = (await overviewOf(sets, uri)).printedPeak;
    const problem = peak ? "The dump prints a peak but not its schedule." : "The dump does not print a peak.";
    await goToOrExplain(peak?.location, problem);
  },

  async goToTruePeak({ sets }, uri) {
    const main = mainSpace((await overviewOf(sets, uri)).spaces);
    await goToOrExplain(main?.peakLocation, "The dump has no schedule with live ranges, so its peak is unknown.");
  },

  async showLiveSetHere({ server, sets }, uri) {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.toString() === uri.with({ fragment: "" }).toString()) {
      const { line, character } = editor.selection.active;
      const isShown = await server
        .execute("xla-lens.showLiveSet", { uri: uri.toString(), position: { line, character } })
        .then(
          () => true,
          () => false,
        );
      if (isShown) return;
    }
    // The cursor refers to no step, or the file is too large to have a document.
    const step = await vscode.window.showInputBox({
      prompt: "Enter a step of the schedule to list its live values",
      value: `${Math.max(0, mainSpace((await overviewOf(sets, uri)).spaces)?.peakStep ?? 0)}`,
      validateInput: (text) => (/^\d{1,15}$/.test(text) ? undefined : "Expected a whole number, 0 or greater"),
    });
    if (step) await server.execute("xla-lens.showLiveSet", { uri: uri.toString(), step: Number(step) });
  },

  async openReport({ server }, uri) {
    await server.execute("xla-lens.showReport", { uri: uri.toString() });
  },

  async openAdvice({ server }, uri) {
    await server.execute("xla-lens.showAdvice", { uri: uri.toString() });
  },

  async showMemoryMap({ maps }, uri) {
    await maps.show(uri);
  },

  async saveMemoryMap({ server, sets }, uri) {
    const title = "Save Memory Map as HTML";
    const [overview, page] = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
      Promise.all([overviewOf(sets, uri), server.execute("xla-lens.report", { uri: uri.toString(), format: "html" })]),
    );
    const defaultUri = vscode.Uri.parse(
      overview.uri.replace("#", "-").replace(/(?:-[a-z-]+)?(?:\.txt)?$/, "-memory-map.html"),
    );
    const target = page && (await vscode.window.showSaveDialog({ title, defaultUri, filters: { HTML: ["html"] } }));
    if (!target) return;
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(page));
    vscode.window.setStatusBarMessage(`$(check) Saved the memory map to ${basename(target.path)}`, STATUS_MS);
  },

  async copyReport({ server }, uri) {
    const report = await server.execute("xla-lens.report", { uri: uri.toString(), format: "markdown" });
    if (report === undefined) return;
    await vscode.env.clipboard.writeText(report);
    vscode.window.setStatusBarMessage("$(check) Copied the report as Markdown", STATUS_MS);
  },

  async compareWith({ comparing }, uri) {
    await comparing.compareWith(uri);
  },

  async selectDumpForCompare({ comparing }, uri) {
    await comparing.select(uri);
  },

  async compareWithSelected({ comparing }, uri) {
    await comparing.compareWithSelected(uri);
  },

  async openSibling({ sets }, uri) {
    const { files } = await overviewOf(sets, uri);
    const others = files.filter((file) => vscode.Uri.parse(file.uri).toString() !== uri.toString());
    if (!others.length) {
      void vscode.window.showInformationMessage("This dump has no other file.");
      return;
    }
    const items = others.map((file) => ({
      label: file.kind,
      description: human(file.sizeBytes),
      detail: basename(file.uri),
      file,
    }));
    const choice = await vscode.window.showQuickPick(items, { placeHolder: "Select a file of this dump to open" });
    if (choice) await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(choice.file.uri));
  },
};

/** Registers all commands. */
export function registerCommands(parts: Parts): vscode.Disposable {
  const finder = new ValueFinder(parts.server);
  const register = (name: string, run: (...given: never[]) => unknown) =>
    vscode.commands.registerCommand(`${SECTION}.${name}`, run);
  return vscode.Disposable.from(
    ...Object.entries(SET_COMMANDS).map(([name, command]) =>
      register(name, (argument?: unknown) => runSetCommand(parts, command, argument)),
    ),
    register("goToLocation", (location: Location) => goTo(location)),
    register("findValue", () => finder.show()),
    register("goToSource", () => goToSourceAtCursor()),
    register("stopComparing", () => parts.comparing.end()),
    register("refreshTree", () => parts.tree.refresh()),
    register("restartServer", () => parts.server.restart()),
    register("showLog", () => parts.log.show()),
    register("nestFiles", () => nestFiles()),
    register("runPython", (uri?: unknown) => runPythonFile(parts, uri)),
    register("openSample", () => openSample(parts.context)),
  );
}

async function runSetCommand(parts: Parts, run: SetCommand, argument: unknown): Promise<void> {
  const inTab = dumpInTab(vscode.window.tabGroups.activeTabGroup.activeTab);
  const uri = uriOf(argument) ?? inTab ?? parts.sourceLines.dump ?? parts.sets.inView;
  if (!uri) {
    void vscode.window.showInformationMessage(
      "No XLA dump is open. Open a dump file first, such as *-buffer-assignment.txt.",
    );
    return;
  }
  try {
    await run(parts, dumpAtCursor(uri));
  } catch (error) {
    void vscode.window.showErrorMessage(`XLA Lens: ${error instanceof Error ? error.message : error}`);
  }
}

/** The file that a menu passes to a command: that of the editor, or that of a module of the tree. */
function uriOf(argument: unknown): vscode.Uri | undefined {
  if (argument instanceof vscode.Uri) return argument;
  return argument instanceof Node ? argument.uri : undefined;
}

/** The overview of the set of a file. Throws if the server cannot read it. */
async function overviewOf(sets: Sets, uri: vscode.Uri): Promise<Overview> {
  const overview = await sets.overview(uri);
  if (!overview) throw new Error(`${basename(uri.path)} could not be read. "XLA Lens: Show Log" has details.`);
  return overview;
}

async function goToOrExplain(location: Location | null | undefined, problem: string): Promise<void> {
  if (location) await goTo(location);
  else void vscode.window.showInformationMessage(problem);
}

/** Goes to the line of the program that what is at the cursor comes from; asks which, if several calls made it. */
async function goToSourceAtCursor(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const actions = editor
    ? await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[]>(
        "vscode.executeCodeActionProvider",
        editor.document.uri,
        editor.selection,
      )
    : [];
  const items = actions.flatMap((action) => {
    const command = typeof action.command === "string" ? (action as vscode.Command) : action.command;
    const [source]: unknown[] = command?.arguments ?? [];
    if (command?.command !== `${SECTION}.goTo` || !isSourceLine(source)) return [];
    return [{ label: action.title.replace(/^[^:]*: /, ""), description: source.path, command }];
  });
  const [first, ...others] = items;
  const placeHolder = "Select a call, the innermost first";
  const chosen = others.length ? await vscode.window.showQuickPick(items, { placeHolder }) : first;
  if (chosen) await vscode.commands.executeCommand(chosen.command.command, ...(chosen.command.arguments ?? []));
  else if (!first)
    void vscode.window.showInformationMessage("The dump names no source line for what is at the cursor.");
}

/** Shows the files of a set below its buffer assignment. The patterns are defaults, but the editor does not use them. */
async function nestFiles(): Promise<void> {
  const isOfWorkspace = vscode.workspace.workspaceFolders !== undefined;
  const target = isOfWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration("explorer.fileNesting").update("enabled", true, target);
}

async function runPythonFile({ server, tree, comparing, log }: Parts, uri: unknown): Promise<void> {
  try {
    await runPython(server, tree, comparing, log, uri instanceof vscode.Uri ? uri : undefined);
  } catch (error) {
    void vscode.window.showErrorMessage(`XLA Lens: ${error instanceof Error ? error.message : error}`);
  }
}

async function openSample({ extensionUri }: vscode.ExtensionContext): Promise<void> {
  const folder = vscode.Uri.joinPath(extensionUri, "media", "sample");
  const names = (await vscode.workspace.fs.readDirectory(folder)).map(([name]) => name);
  const first = names.find((name) => name.endsWith("-live-range.txt"));
  if (!first) return;
  // A walkthrough has no input that extensions know. The sample would replace it.
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  const viewColumn = tab && tab.input === undefined ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.joinPath(folder, first), { viewColumn });
}
