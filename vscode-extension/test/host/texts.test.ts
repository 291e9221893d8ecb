/** Texts that are no plain files of dumps: pasted, compressed, in a log; and actions in read-only files. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import * as vscode from "vscode";

import type { Parts } from "../../src/commands";
import * as ask from "./ask";
import { at, find, open } from "./places";
import { eventually, test } from "./suite";

async function api(): Promise<Parts> {
  return await vscode.extensions.getExtension<Parts>("xla-lens.xla-lens")!.activate();
}

async function textOf(folder: string, end: string): Promise<string> {
  return Buffer.from(await vscode.workspace.fs.readFile(await find(folder, end))).toString();
}

test("texts: a pasted dump is recognized, and the commands are about it", async () => {
  await open("split", "-live-range.txt");
  const pasted = await vscode.workspace.openTextDocument({ content: "" });
  const editor = await vscode.window.showTextDocument(pasted);
  // A text that is no dump yet has no numbers, and not those of the dump beside it.
  const { statusBar, sets } = await api();
  await vscode.commands.executeCommand("xla-lens.showMemoryMap");
  assert.equal(vscode.window.tabGroups.activeTabGroup.activeTab?.label.startsWith("Untitled"), true);
  const text = await textOf("single", "-buffer-assignment.txt");
  await editor.edit((edit) => edit.insert(new vscode.Position(0, 0), text));
  const document = await eventually(
    () => vscode.workspace.textDocuments.find((one) => one.isUntitled),
    (one) => one?.languageId === "xla-dump",
  );
  await eventually(
    () => statusBar.item.text,
    (shown) => shown.includes("5.00 MiB of HBM"),
  );
  assert.equal(sets.inView?.toString(), document!.uri.toString());
  const overview = await sets.overview(document!.uri);
  assert.equal(overview?.spaces[0]?.needed, "5.00 MiB");
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
});

test("texts: a compressed dump opens as text with its siblings", async () => {
  const plain = await find("split", "-live-range.txt");
  const folder = join(plain.fsPath, "..", "..", "compressed");
  await vscode.workspace.fs.createDirectory(vscode.Uri.file(folder));
  for (const end of ["-live-range.txt", "-buffer-assignment.txt", "-buffer-assignment-values.txt"]) {
    const file = await find("split", end);
    const data = gzipSync(Buffer.from(await vscode.workspace.fs.readFile(file)));
    await writeFile(join(folder, `${basename(file.fsPath)}.gz`), data);
  }
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(join(folder, `${basename(plain.fsPath)}.gz`)));
  const document = await eventually(
    () => vscode.window.activeTextEditor?.document,
    (one) => one?.uri.path.includes("unpacked") === true && one.languageId === "xla-dump",
  );
  assert.equal(basename(document!.uri.path), basename(plain.path));
  const { sets } = await api();
  assert.equal((await sets.overview(document!.uri))?.files.length, 3);
  await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
  await vscode.workspace.fs.delete(vscode.Uri.file(folder), { recursive: true });
});

test("texts: the dumps that XLA printed into a log open", async () => {
  const name = basename((await find("single", "-buffer-assignment.txt")).path);
  const text = await textOf("single", "-buffer-assignment.txt");
  const content = `step 1\n*** Begin ${name} ***\n${text}\n*** End ${name} ***\nstep 2\n`;
  const log = await vscode.workspace.openTextDocument({ content, language: "log" });
  await vscode.window.showTextDocument(log);
  const lenses = await ask.lenses(log);
  assert.deepEqual(lenses, ["2: open the dumps in this log (xla-lens.openPrintedDumps)"]);
  await vscode.commands.executeCommand("xla-lens.openPrintedDumps", log.uri);
  await eventually(
    () => vscode.window.activeTextEditor?.document,
    (one) => one !== undefined && basename(one.uri.path) === name && one.languageId === "xla-dump",
  );
  await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
});

test("texts: hovers lead to the actions, which read-only files lack", async () => {
  const document = await open("split", "-buffer-assignment.txt");
  const line = document
    .getText()
    .split("\n")
    .find((one) => one.includes("value: <") && one.includes(" dot @0"))!;
  const lines = await eventually(
    () => ask.hover(at(document, line, "dot")),
    (found) => found.length > 3,
  );
  const footer = lines.at(-1)!;
  assert.equal(ask.withoutLinks(footer), "Show in the memory map · Actions…");
  assert.match(footer, /command:xla-lens\.showValuesInMap.*command:xla-lens\.showActions/);
  // The history of the allocation has a command of its own.
  vscode.window.activeTextEditor!.selection = new vscode.Selection(
    at(document, line, "dot").position,
    at(document, line, "dot").position,
  );
  await vscode.commands.executeCommand("xla-lens.showHistoryHere");
  await eventually(
    () => vscode.window.tabGroups.activeTabGroup.activeTab?.label ?? "",
    (label) => label.includes("history-of-allocation"),
  );
  await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
});
