/** Runs a Python file below `xla-lens run`, and shows its dumps in the tree. */

import { existsSync } from "node:fs";
import { basename, dirname, join, parse, relative } from "node:path";
import * as vscode from "vscode";

import { timestamp } from "../shared/runs";
import type { Comparing } from "./comparing";
import { show } from "./locations";
import { interpreterFor } from "./python";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import type { Tree } from "./tree";

/** What a run works with. */
interface Running {
  server: Server;
  sets: Sets;
  tree: Tree;
  comparing: Comparing;
  log: vscode.LogOutputChannel;
}

/**
 * Runs a Python file, that of the active editor by default, in a terminal of its own. Returns when its dumps are shown, and
 * offers to compare them with those of the previous run.
 */
export async function runPython({ server, sets, tree, comparing, log }: Running, given?: vscode.Uri): Promise<void> {
  const uri = given ?? vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== "file" || !uri.path.endsWith(".py")) {
    void vscode.window.showInformationMessage("Open a Python file first.");
    return;
  }
  await vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString())?.save();
  await server.start();
  // Without a program, the user has seen a message.
  const [command, ...args] = server.program;
  if (command === undefined) return;
  const scope = vscode.workspace.getWorkspaceFolder(uri);
  const cwd = scope?.uri.fsPath ?? dirname(uri.fsPath);
  const out = join("xla-dumps", `${parse(uri.fsPath).name}-${timestamp(new Date())}`);
  const python = await interpreterFor(uri, log);
  const file = relative(cwd, uri.fsPath);
  const run = new vscode.ProcessExecution(command, [...args, "run", "--out", out, "--", python, file], { cwd });
  const [where, name] = [scope ?? vscode.TaskScope.Global, `Memory of ${basename(file)}`];
  await ended(new vscode.Task({ type: "process" }, where, name, "XLA Lens", run, []));
  const folder = join(cwd, out);
  // Without dumps, the folder is gone, and the terminal says why.
  if (!existsSync(folder)) return;
  const change = await tree.reveal(folder);
  if (change === false) {
    await showBiggest(folder);
    return;
  }
  // The first thing to see after a run. The failure of a program that ran out of memory is in its terminal.
  await vscode.commands.executeCommand(`${SECTION}.openAnswer`, sets.inView);
  if (!change) return;
  const compare = "Compare with Previous";
  void vscode.window.showInformationMessage(change.text, compare).then(async (choice) => {
    if (choice) await comparing.compare(vscode.Uri.parse(change.before.uri), vscode.Uri.parse(change.uri));
  });
}

/** Runs a task to its end in a terminal of its own. */
async function ended(task: vscode.Task): Promise<void> {
  task.presentationOptions = { panel: vscode.TaskPanelKind.Dedicated, clear: true };
  const execution = await vscode.tasks.executeTask(task);
  await new Promise<void>((resolve) => {
    const subscription = vscode.tasks.onDidEndTask((event) => {
      if (event.execution !== execution) return;
      subscription.dispose();
      resolve();
    });
  });
}

/** Shows the biggest dump of a folder that the tree does not list, because it is outside of the workspace. */
async function showBiggest(folder: string): Promise<void> {
  const pattern = new vscode.RelativePattern(vscode.Uri.file(folder), "**/*-buffer-assignment.txt");
  let biggest: { uri: vscode.Uri; size: number } | undefined;
  for (const uri of await vscode.workspace.findFiles(pattern, null)) {
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size > (biggest?.size ?? -1)) biggest = { uri, size };
  }
  if (biggest) await show(biggest.uri.toString());
}
