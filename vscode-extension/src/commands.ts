/** The code behind the commands of `commands.json`, and behind those that rows of the tree and links in pages run. */

import { basename } from "node:path";
import * as vscode from "vscode";

import type list from "../commands.json";
import { human } from "../shared/numbers";
import type { Location, Overview, PositionArguments } from "../shared/protocol";
import { mainSpace } from "../shared/spaces";
import { showActions, showAllocationHistory } from "./actions";
import type { Comparing } from "./comparing";
import { dumpInTab, looksLikeDump } from "./documents";
import { findValue } from "./findValue";
import { freeColumn, goTo, show } from "./locations";
import type { Maps } from "./maps";
import { explain } from "./outOfMemory";
import { runPython } from "./running";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import type { SourceLines } from "./sourceLines";
import { isSourceLine } from "./sources";
import type { StatusBar } from "./statusBar";
import type { Tree } from "./tree";
import { Node } from "./treeNodes";
import { openTerminalSelection, type Unpacking } from "./unpacking";

/** The parts of the extension, with which the commands work. */
export interface Parts {
  context: vscode.ExtensionContext;
  server: Server;
  sets: Sets;
  statusBar: StatusBar;
  tree: Tree;
  maps: Maps;
  unpacking: Unpacking;
  comparing: Comparing;
  sourceLines: SourceLines;
  log: vscode.LogOutputChannel;
}

type Command = (parts: Parts, ...given: never[]) => unknown;

const STATUS_MS = 5000;

const COMMANDS: Readonly<Record<keyof typeof list.commands, Command>> = {
  goToPeak: ofSet(async ({ sets }, uri) => {
    const peak = (await overviewOf(sets, uri)).printed_peak;
    const problem = peak ? "The dump prints a peak but not its schedule." : "The dump does not print a peak.";
    await goToOrExplain(peak?.location, problem);
  }),
  goToTruePeak: ofSet(async ({ sets }, uri) => {
    const main = mainSpace((await overviewOf(sets, uri)).spaces);
    await goToOrExplain(main?.peak_location, "The dump has no schedule with live ranges, so its peak is unknown.");
  }),
  showLiveSetHere: ofSet(showLiveSet),
  openReport: ofSet(({ server }, uri) => server.execute("xla-lens.showReport", { uri: uri.toString() })),
  openAnswer: ofSet(({ server }, uri) => server.execute("xla-lens.showAnswer", { uri: uri.toString() })),
  openAdvice: ofSet(({ server }, uri) => server.execute("xla-lens.showAdvice", { uri: uri.toString() })),
  showMemoryMap: ofSet(({ maps }, uri) => maps.show(uri)),
  showFlameGraph: ofSet(({ maps }, uri) => maps.showFlame(uri)),
  saveMemoryMap: ofSet(saveMemoryMap),
  copyReport: ofSet(async ({ server }, uri) => {
    const report = await server.execute("xla-lens.report", { uri: uri.toString(), format: "markdown" });
    if (report !== undefined) await copy(report, "Copied the report as Markdown");
  }),
  compareWith: ofSet(({ comparing }, uri) => comparing.compareWith(uri)),
  openSibling: ofSet(openSibling),
  stopComparing: ({ server }) => server.execute("xla-lens.endComparison", {}),
  selectDumpForCompare: ofSet(({ comparing }, uri) => comparing.select(uri)),
  compareWithSelected: ofSet(({ comparing }, uri) => comparing.compareWithSelected(uri)),
  findValue: ({ server }) => findValue(server),
  goToSource: goToSourceAtCursor,
  showActions: (_, argument?: unknown) => {
    // A hover passes its place, a menu the file.
    const { uri, position } = (argument ?? {}) as Partial<PositionArguments>;
    return position ? showActions(uri, position) : showActions();
  },
  showHistoryHere: showAllocationHistory,
  openPrintedDumps: ({ unpacking }, argument?: unknown) =>
    unpacking.open(uriOf(argument) ?? vscode.window.activeTextEditor?.document.uri),
  openTerminalSelection,
  explainOutOfMemory: ({ server, sets }, argument?: unknown) => explain(server, sets, uriOf(argument)),
  showSourceLines: ({ sourceLines }) => sourceLines.turn(true, true),
  toggleSourceLines: ({ sourceLines }) => sourceLines.turn(!sourceLines.isOn, true),
  showBuffersOfLine: ({ sourceLines }, uri?: string, first?: number, last?: number) =>
    sourceLines.showBuffers(uri, first, last),
  refreshTree: ({ tree }) => tree.refresh(),
  restartServer: ({ server }) => server.restart(),
  showLog: ({ log }) => log.show(),
  runPython: (parts, argument?: unknown) => runPython(parts, uriOf(argument)),
  openSample,
  // The menus of the tree pass the row.
  openNode: (_, node?: Node) => node && open(node),
  goToPeakOfSpace: (_, node?: Node) => node && open(node),
  goToSourceOfNode: (_, node?: Node) => vscode.commands.executeCommand(`${SECTION}.goTo`, node?.parts.sourceLine),
  copyName: (_, node?: Node) => vscode.env.clipboard.writeText(node?.parts.name ?? ""),
  revealFile: (_, node?: Node) => {
    const uri = uriOf(node);
    // In the file manager if it is outside of the workspace.
    const isHere = uri && vscode.workspace.getWorkspaceFolder(uri);
    return vscode.commands.executeCommand(isHere ? "revealInExplorer" : "revealFileInOS", uri);
  },
  showInMap: async ({ maps }, node?: Node) => {
    if (!node?.parts.location) return;
    // The map selects what the cursor is on.
    await open(node);
    await maps.show(vscode.Uri.parse(node.parts.location.uri));
  },
};

/** The commands that only rows of the tree and links in pages run. */
const LINKED: Readonly<Record<string, Command>> = {
  goToLocation: (_, location: Location) => goTo(location),
  openFile: (_, uri: string) => show(uri),
  openLink: (_, uri: string) => show(uri, { viewColumn: freeColumn() }),
  compareRuns: ({ comparing }, { old, new: now }: { old: string; new: string }) =>
    comparing.compare(vscode.Uri.parse(old), vscode.Uri.parse(now)),
  copyCode: (_, code: string) => copy(code, "Copied the code"),
  showValuesInMap: async ({ maps }, { uri, values, name }: { uri: string; values: number[]; name?: string }) => {
    const dump = vscode.Uri.parse(uri);
    await maps.show(dump, true);
    await maps.light(dump, name ?? (values.length > 1 ? "the values" : "the value"), values);
  },
};

/** Registers all commands. */
export function registerCommands(parts: Parts): vscode.Disposable {
  return vscode.Disposable.from(
    ...Object.entries({ ...COMMANDS, ...LINKED }).map(([name, command]) =>
      vscode.commands.registerCommand(`${SECTION}.${name}`, async (...given: never[]) => {
        try {
          await command(parts, ...given);
        } catch (error) {
          void vscode.window.showErrorMessage(`XLA Lens: ${error instanceof Error ? error.message : error}`);
        }
      }),
    ),
  );
}

/** A command about a dump set: that of the file or module in whose menu the user chose it, else the set in view. */
function ofSet(run: (parts: Parts, uri: vscode.Uri) => unknown): Command {
  return async (parts: Parts, argument?: unknown) => {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    const uri = uriOf(argument) ?? dumpInTab(tab) ?? parts.sourceLines.dump;
    // The numbers of another dump would pass for those of a text that looks like a dump, but is none.
    const other = tab && looksLikeDump(tab) ? undefined : parts.sets.inView;
    const dump = uri ?? other;
    if (dump) {
      await run(parts, dump);
      return;
    }
    const problem =
      tab && looksLikeDump(tab) ? `${tab.label} is no dump that XLA Lens can read.` : "No XLA dump is open.";
    void vscode.window.showInformationMessage(
      `${problem} Open a dump file first, such as *-buffer-assignment.txt, or paste one into a new file.`,
    );
  };
}

/** The file that a menu or the toolbar of a page passes to a command: that of the editor, or that of a module of the tree. */
function uriOf(argument: unknown): vscode.Uri | undefined {
  if (typeof argument === "string") return vscode.Uri.parse(argument);
  if (argument instanceof vscode.Uri) return argument;
  return argument instanceof Node ? argument.parts.uri : undefined;
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

async function copy(text: string, done: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(`$(check) ${done}`, STATUS_MS);
}

async function open({ parts: { location, uri } }: Node): Promise<void> {
  if (location) await goTo(location);
  else if (uri) await show(uri.toString());
}

async function showLiveSet({ server, sets }: Parts, uri: vscode.Uri): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.toString() === uri.with({ fragment: "" }).toString()) {
    const { line, character } = editor.selection.active;
    const answer = server.execute("xla-lens.showLiveSet", { uri: uri.toString(), position: { line, character } });
    if (await answer.then(() => true).catch(() => false)) return;
  }
  // The cursor refers to no step, or the file is too large to have a document.
  const step = await vscode.window.showInputBox({
    prompt: "Enter a step of the schedule to list its live values",
    value: `${mainSpace((await overviewOf(sets, uri)).spaces)?.peak_step ?? 0}`,
    validateInput: (text) => (/^\d{1,15}$/.test(text) ? undefined : "Expected a whole number, 0 or greater"),
  });
  if (step) await server.execute("xla-lens.showLiveSet", { uri: uri.toString(), step: Number(step) });
}

async function saveMemoryMap({ server, sets }: Parts, uri: vscode.Uri): Promise<void> {
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
}

async function openSibling({ sets }: Parts, uri: vscode.Uri): Promise<void> {
  const { files } = await overviewOf(sets, uri);
  const items = files.flatMap(({ kind, size_bytes: sizeBytes, uri: own }) => {
    if (vscode.Uri.parse(own).toString() === uri.toString()) return [];
    return [{ label: kind, description: human(sizeBytes), detail: basename(own), uri: own }];
  });
  const placeHolder = items.length ? "Select a file of this dump to open" : "This dump has no other file";
  const choice = await vscode.window.showQuickPick(items, { placeHolder });
  if (choice) await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(choice.uri));
}

/** Goes to the line of the program that what is at the cursor comes from; asks which, if several calls made it. */
async function goToSourceAtCursor(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const given = [editor?.document.uri, editor?.selection];
  const actions = vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", ...given);
  const items = (editor ? await actions : []).flatMap(({ title, command }) => {
    const [source]: unknown[] = command?.arguments ?? [];
    if (command?.command !== `${SECTION}.goTo` || !isSourceLine(source)) return [];
    return [{ label: title.replace(/^[^:]*: /, ""), description: source.path, command }];
  });
  const [first, ...others] = items;
  const placeHolder = "Select a call, the innermost first";
  const chosen = others.length ? await vscode.window.showQuickPick(items, { placeHolder }) : first;
  if (chosen) await vscode.commands.executeCommand(chosen.command.command, ...(chosen.command.arguments ?? []));
  else if (!first)
    void vscode.window.showInformationMessage("The dump names no source line for what is at the cursor.");
}

async function openSample({ context: { extensionUri } }: Parts): Promise<void> {
  const folder = vscode.Uri.joinPath(extensionUri, "media", "sample");
  const names = (await vscode.workspace.fs.readDirectory(folder)).map(([name]) => name);
  const first = names.find((name) => name.endsWith("-live-range.txt"));
  if (!first) return;
  // A walkthrough has no input that extensions know. The sample would replace it.
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  const viewColumn = tab && tab.input === undefined ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.joinPath(folder, first), { viewColumn });
}
