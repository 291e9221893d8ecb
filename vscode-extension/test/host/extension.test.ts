/** Commands, status bar, tree and memory map. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

import type { Parts } from "../../src/commands";
import type { Node } from "../../src/treeNodes";
import { at, find, open, shortName } from "./places";
import { eventually, test } from "./suite";

async function api(): Promise<Parts> {
  const extension = vscode.extensions.getExtension<Parts>("xla-lens.xla-lens");
  assert.ok(extension, "the extension is not installed");
  return await extension.activate();
}

/** The position of the cursor, as `name:line`. */
function here(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? `${shortName(editor.document.uri)}:${editor.selection.active.line + 1}` : "";
}

/** Opens the live ranges of the split dump, and waits until its set is in view. */
async function openSplit(): Promise<vscode.TextDocument> {
  const document = await open("split", "-live-range.txt");
  const { statusBar } = await api();
  await eventually(
    () => statusBar.item.text,
    (text) => text.includes("4.21 MiB of host memory"),
  );
  return document;
}

test("extension: all declared commands are registered", async () => {
  const extension = vscode.extensions.getExtension<Parts>("xla-lens.xla-lens");
  const declared = (extension!.packageJSON.contributes.commands as { command: string }[]).map(({ command }) => command);
  const registered = new Set(await vscode.commands.getCommands(true));
  assert.deepEqual(
    declared.filter((command) => !registered.has(command)),
    [],
  );
});

test("extension: the status bar shows the peak of the set in view", async () => {
  const { statusBar } = await api();
  await openSplit();
  assert.equal(statusBar.item.command, "xla-lens.openAnswer");
  await open("single", "-buffer-assignment.txt");
  await eventually(
    () => statusBar.item.text,
    (text) => text.includes("5.00 MiB of HBM"),
  );
});

test("extension: commands go to the real and the printed peak", async () => {
  await openSplit();
  await vscode.commands.executeCommand("xla-lens.goToTruePeak");
  await eventually(here, (place) => place === "live-range.txt:39");
  await vscode.commands.executeCommand("xla-lens.goToPeak");
  await eventually(here, (place) => place === "live-range.txt:84" || place === "live-range.txt:40");
});

test("extension: the report is copied as Markdown", async () => {
  await openSplit();
  await vscode.env.clipboard.writeText("");
  await vscode.commands.executeCommand("xla-lens.copyReport");
  assert.match(await vscode.env.clipboard.readText(), /4\.21 MiB/);
});

test("extension: live values at the step of the cursor are shown", async () => {
  const { document, position } = at(await openSplit(), "    20:subtract_multiply_fusion", "20");
  const editor = await vscode.window.showTextDocument(document);
  editor.selection = new vscode.Selection(position, position);
  await vscode.commands.executeCommand("xla-lens.showLiveSetHere");
  const page = (): string | undefined =>
    vscode.workspace.textDocuments.find(({ uri }) => uri.scheme === "xla-lens")?.getText();
  assert.match((await eventually(page, (text) => Boolean(text))) ?? "", /step 20/);
});

test("extension: a page brings its set into view", async () => {
  const { sets, statusBar } = await api();
  await vscode.commands.executeCommand("xla-lens.showLiveSet", { uri: (await openSplit()).uri.toString(), step: 36 });
  await eventually(
    () => vscode.window.activeTextEditor?.document.uri.path ?? "",
    (path) => path.endsWith("/jit_train_step-live-set-at-36.txt"),
  );
  // Brings another set into view in between.
  const page = vscode.window.activeTextEditor!.document;
  await open("single", "-buffer-assignment.txt");
  await eventually(
    () => statusBar.item.text,
    (text) => text.includes("5.00 MiB of HBM"),
  );
  await vscode.window.showTextDocument(page);
  await eventually(
    () => statusBar.item.text,
    (text) => text.includes("4.21 MiB of host memory"),
  );
  assert.equal(sets.inView?.toString(), page.uri.toString());
  await vscode.commands.executeCommand("xla-lens.goToTruePeak");
  await eventually(here, (place) => place === "live-range.txt:39");
});

test("extension: the server can be restarted", async () => {
  const document = await openSplit();
  await vscode.commands.executeCommand("xla-lens.restartServer");
  const { position } = at(document, "    dot{}:35-37", "dot");
  const hover = (): Thenable<vscode.Hover[]> =>
    vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, position);
  await eventually(hover, (found) => found.length > 0);
});

function labels(nodes: readonly Node[]): string[] {
  return nodes.map(({ item }) => `${item.label}`);
}

function commands(nodes: readonly Node[]): string[] {
  return nodes.map(({ item }) => item.command?.command ?? "");
}

test("extension: the tree lists modules, those that need most first", async () => {
  const { tree } = await api();
  const roots = (): Thenable<string[]> =>
    tree.getChildren().then((nodes) => nodes.map(({ item }) => `${item.label} ${item.description}`));
  const found = await eventually(roots, (names) => names.length === 3);
  assert.deepEqual(found, [
    "5.00 MiB  jit_matmul_bias_relu HBM",
    "4.21 MiB  jit_train_step host memory",
    "580.0 KiB  001_491faa5ce21a17c6 HBM",
  ]);
  const module = (await tree.getChildren())[1];
  assert.equal(module?.parts.uri?.toString().endsWith(".txt"), true);
  const parts = await tree.getChildren(module);
  assert.deepEqual(labels(parts), ["4.21 MiB  host memory", "What would lower the peak", "Allocations", "Files"]);
  // Only values lead somewhere.
  assert.deepEqual(commands(parts), ["", "xla-lens.showAnswer", "", ""]);
  const branches = await tree.getChildren(parts[0]);
  assert.deepEqual(labels(branches), ["By source line", "By parameter path", "By value"]);
  assert.deepEqual(commands(branches), ["", "", ""]);
  const lines = await tree.getChildren(branches[0]);
  assert.deepEqual(labels(lines).slice(1), [
    "1.53 MiB  programs.py:50",
    "523.0 KiB  programs.py:59",
    "392.0 KiB  x",
    "256.0 KiB  programs.py:51",
    "5.0 KiB  y",
    "4 B  programs.py:57",
    "4 B  (no source: 1 constant buffer)",
  ]);
  assert.deepEqual(lines[1]?.parts.sourceLine, { path: "/home/user/programs/programs.py", line: 50 });
  assert.deepEqual(labels(await tree.getChildren(lines[1])), ["1.53 MiB  dot", "2.0 KiB  ynn_fusion.1"]);
  const parameters = await tree.getChildren(branches[1]);
  assert.deepEqual(labels(parameters), ["2.04 MiB  params", "392.0 KiB  x", "5.0 KiB  y"]);
  const layers = await tree.getChildren(parameters[0]);
  assert.deepEqual(labels(layers), ["1.53 MiB  [0]", "513.0 KiB  [1]", "10.0 KiB  [2]"]);
  assert.deepEqual(labels(await tree.getChildren(layers[0])), ["1.53 MiB  [0]", "2.0 KiB  [1]"]);
  const live = await tree.getChildren(branches[2]);
  assert.equal(live.length, 13);
  assert.deepEqual(labels(live).slice(0, 2), ["1.53 MiB  params[0][0]", "1.53 MiB  dot"]);
  const { command, arguments: args = [] } = live[1]?.item.command ?? { command: "" };
  await vscode.commands.executeCommand(command, ...args);
  await eventually(
    () => vscode.window.activeTextEditor?.document.lineAt(vscode.window.activeTextEditor.selection.active).text ?? "",
    (line) => line.includes("<244 dot @0>"),
  );
});

test("extension: the menus of the tree copy names and open values", async () => {
  const { tree } = await api();
  const module = (await tree.getChildren())[1];
  const [space] = await tree.getChildren(module);
  const [byLine, , byValue] = await tree.getChildren(space);
  const line = byLine && (await tree.getChildren(byLine))[1];
  await vscode.commands.executeCommand("xla-lens.copyName", line);
  assert.equal(await vscode.env.clipboard.readText(), "/home/user/programs/programs.py:50");
  await vscode.commands.executeCommand("xla-lens.goToPeakOfSpace", space);
  await eventually(here, (place) => place === "live-range.txt:39");
  await vscode.commands.executeCommand("xla-lens.openNode", byValue && (await tree.getChildren(byValue))[0]);
  await eventually(here, (place) => place.startsWith("buffer-assignment-values.txt:"));
});

test("extension: the map of a set is opened once", async () => {
  await openSplit();
  await vscode.commands.executeCommand("xla-lens.showMemoryMap");
  const titles = (): string[] =>
    vscode.window.tabGroups.all
      .flatMap(({ tabs }) => tabs)
      .filter(({ input }) => input instanceof vscode.TabInputWebview)
      .map(({ label }) => label);
  await eventually(titles, (found) => found[0] === "Memory Map: jit_train_step");
  await vscode.commands.executeCommand("xla-lens.showMemoryMap", await find("split", "-buffer-assignment.txt"));
  assert.deepEqual(titles(), ["Memory Map: jit_train_step"]);
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
});
