/** The commands of the menus of the tree's nodes. They get the node as their argument. */

import * as vscode from "vscode";

import { goTo, show } from "./locations";
import type { Maps } from "./maps";
import { SECTION } from "./server";
import type { Node } from "./treeNodes";

/** Registers the commands that only the tree has. */
export function registerTreeCommands(maps: Maps): vscode.Disposable {
  const register = (name: string, run: (node: Node) => unknown) =>
    vscode.commands.registerCommand(`${SECTION}.${name}`, (node?: Node) => node && run(node));
  return vscode.Disposable.from(
    register("openNode", open),
    register("goToPeakOfSpace", open),
    register("goToSourceOfNode", ({ parts }) => vscode.commands.executeCommand(`${SECTION}.goTo`, parts.sourceLine)),
    register("copyName", ({ parts }) => vscode.env.clipboard.writeText(parts.name ?? "")),
    register("revealFile", ({ parts }) => parts.uri && reveal(parts.uri)),
    register("showInMap", async (node) => {
      // The map selects what the cursor is on.
      await open(node);
      if (node.parts.location) await maps.show(vscode.Uri.parse(node.parts.location.uri));
    }),
  );
}

async function open({ parts: { location, uri } }: Node): Promise<void> {
  if (location) await goTo(location);
  else if (uri) await show(uri.toString());
}

/** Reveals a file in the Explorer view, or in the file manager if it is outside of the workspace. */
async function reveal(uri: vscode.Uri): Promise<void> {
  const isInWorkspace = vscode.workspace.getWorkspaceFolder(uri) !== undefined;
  await vscode.commands.executeCommand(isInWorkspace ? "revealInExplorer" : "revealFileInOS", uri);
}
