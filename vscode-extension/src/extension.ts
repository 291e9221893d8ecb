/**
 * XLA Lens in VS Code: a thin client of the language server, plus what the Language Server Protocol does not cover:
 * commands, the tree, the status bar and the memory map.
 */

import * as vscode from "vscode";

import { registerTools } from "./agents";
import { watchBigFiles } from "./bigFiles";
import { type Parts, registerCommands } from "./commands";
import { Comparing } from "./comparing";
import { followCursor } from "./cursor";
import { decorateFiles } from "./decorations";
import { dumpInTab, isDump, recognizeDumps } from "./documents";
import { HEATS, showHeatOfSteps } from "./heat";
import { Maps } from "./maps";
import { registerOutOfMemory } from "./outOfMemory";
import { registerPages } from "./pages";
import { SECTION, Server } from "./server";
import { Sets } from "./sets";
import { SourceLines } from "./sourceLines";
import { StatusBar } from "./statusBar";
import { Tree } from "./tree";
import { Unpacking } from "./unpacking";

/** Starts the extension. Returns its parts for its tests. */
export function activate(context: vscode.ExtensionContext): Parts {
  const log = vscode.window.createOutputChannel("XLA Lens", { log: true });
  const server = new Server(context, log);
  const sets = new Sets(server);
  const statusBar = new StatusBar(sets, server);
  const tree = new Tree(server, sets);
  const maps = new Maps(context, server, sets);
  const sourceLines = new SourceLines(server, sets, maps);
  const comparing = new Comparing(server, sets);
  const unpacking = new Unpacking(context, server);
  const parts = { context, server, sets, statusBar, tree, maps, unpacking, comparing, sourceLines, log };
  const startFor = (document: vscode.TextDocument) => {
    if (isDump(document)) void server.start();
  };
  const updateContext = () =>
    void vscode.commands.executeCommand("setContext", `${SECTION}.hasSet`, sets.inView !== undefined);
  context.subscriptions.push(
    log,
    server,
    sets,
    statusBar,
    tree,
    maps,
    sourceLines,
    recognizeDumps(log),
    watchBigFiles(sets),
    followCursor(server, [tree, maps], maps.onDidOpen),
    HEATS,
    showHeatOfSteps(server),
    registerPages(server, sets, tree),
    registerOutOfMemory(),
    unpacking.register(),
    decorateFiles(),
    registerCommands(parts),
    registerTools(server, sets),
    sets.onDidView(updateContext),
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.server.python`)) void server.retry();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.retry()),
  );
  updateContext();
  vscode.workspace.textDocuments.forEach(startFor);
  if (dumpInTab(vscode.window.tabGroups.activeTabGroup.activeTab)) void server.start();
  return parts;
}
