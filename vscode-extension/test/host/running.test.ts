/** The command that runs a Python file and shows its memory. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

import type { Parts } from "../../src/commands";
import { eventually, test } from "./suite";

/** Does what XLA does when it compiles: writes a dump to where the flags in the environment of C say. */
const PROGRAM = `
import shutil, subprocess
flags = subprocess.run(["sh", "-c", 'printf %s "$XLA_FLAGS"'], capture_output=True, text=True).stdout
shutil.copytree("single", flags.rpartition("--xla_dump_to=")[2])
print("trained")
`;

test("running: a Python file runs in a terminal of its own, and its worst module is selected in the tree", async () => {
  const extension = vscode.extensions.getExtension<Parts>("xla-lens.xla-lens");
  const { tree } = await extension!.activate();
  const workspace = vscode.workspace.workspaceFolders![0]!.uri;
  const file = vscode.Uri.joinPath(workspace, "train.py");
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode("# not saved yet"));
  const editor = await vscode.window.showTextDocument(file);
  await editor.edit((edit) => edit.replace(new vscode.Range(0, 0, 1, 0), PROGRAM));
  await vscode.commands.executeCommand("xla-lens.runPython");
  try {
    const selected = await eventually(
      () => tree.view.selection[0]?.parts.uri?.path ?? "",
      (path) => path.includes("/xla-dumps/train-"),
    );
    assert.match(selected, /\/xla-dumps\/train-\d{8}-\d{6}\/process-\d+\/module_.*-buffer-assignment\.txt$/);
    assert.ok(vscode.window.terminals.some(({ name }) => name.includes("Memory of train.py")));
    // Nothing but the dumps is left.
    const dumps = vscode.Uri.joinPath(workspace, "xla-dumps");
    assert.equal((await vscode.workspace.fs.readDirectory(dumps)).length, 1);
  } finally {
    await vscode.workspace.fs.delete(vscode.Uri.joinPath(workspace, "xla-dumps"), { recursive: true });
    await vscode.workspace.fs.delete(file);
  }
});
