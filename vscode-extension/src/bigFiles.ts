/** Files above the size up to which the editor gives extensions a document. */

import { basename } from "node:path";
import * as vscode from "vscode";

import { human } from "../shared/numbers";
import type { SetFile } from "../shared/protocol";
import { mainSpace } from "../shared/spaces";
import { dumpInTab, MAX_DOCUMENT_BYTES } from "./documents";
import { SECTION } from "./server";
import type { Sets } from "./sets";

/** The files of the same set that the notification offers to open, best first. */
const ALTERNATIVES: readonly SetFile["kind"][] = ["live-range", "buffer-assignment", "memory-usage-report"];

/** Shows a notification when a large dump file is opened for the first time: what works, and a smaller file of its set. */
export function watchBigFiles(sets: Sets): vscode.Disposable {
  const shown = new Set<string>();

  async function inspect(uri: vscode.Uri | undefined): Promise<void> {
    if (!uri || shown.has(uri.toString())) return;
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size <= MAX_DOCUMENT_BYTES || shown.has(uri.toString())) return;
    shown.add(uri.toString());
    const overview = await sets.overview(uri);
    if (!overview) return;
    const candidates = ALTERNATIVES.flatMap((kind) => overview.files.filter((file) => file.kind === kind));
    const small = candidates.find(({ size_bytes: sizeBytes }) => sizeBytes <= MAX_DOCUMENT_BYTES);
    const main = mainSpace(overview.spaces);
    const peak = main && main.peak_step !== null ? ` The real peak of ${main.name} is ${main.peak}.` : "";
    const [openSmall, showMap] = [small ? `Open the ${small.kind} file` : "", "Show Memory Map"];
    const choice = await vscode.window.showInformationMessage(
      `${basename(uri.path)} has ${human(size)}. VS Code gives extensions no text of files over ${human(MAX_DOCUMENT_BYTES)}, so there are no hovers in it. XLA Lens reads the dump from disk: the tree, the memory map and reports work.${peak}`,
      ...[openSmall, showMap].filter(Boolean),
    );
    if (choice === showMap) await vscode.commands.executeCommand(`${SECTION}.showMemoryMap`);
    else if (choice && small) await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(small.uri));
  }

  const inspectQuietly = (uri: vscode.Uri | undefined) => void inspect(uri).catch(() => undefined);
  inspectQuietly(dumpInTab(vscode.window.tabGroups.activeTabGroup.activeTab));
  return sets.onDidView(inspectQuietly);
}
