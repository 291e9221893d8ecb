/** Files that are too big for the editor to hand to extensions: what is there for them all the same. */

import * as vscode from "vscode";

import { BIGGEST_BYTES, dumpOf } from "./documents";
import { human } from "../map/numbers";
import type { SetFile } from "./protocol";
import { SECTION } from "./server";
import type { Sets } from "./sets";
import { worstSpace } from "./statusBar";

/** The siblings that are offered, the most telling first. */
const OFFERED: readonly SetFile["kind"][] = ["live-range", "buffer-assignment", "memory-usage-report"];

/** Tells once of each big file, when it is opened, that its set is served from disk, and offers a small sibling. */
export function watchBigFiles(sets: Sets): vscode.Disposable {
  const told = new Set<string>();

  async function look(uri: vscode.Uri | undefined): Promise<void> {
    if (!uri || told.has(uri.toString())) return;
    const { size } = await vscode.workspace.fs.stat(uri);
    if (size <= BIGGEST_BYTES || told.has(uri.toString())) return;
    told.add(uri.toString());
    const overview = await sets.overview(uri);
    if (!overview) return;
    const small = OFFERED.flatMap((kind) => overview.files.filter((file) => file.kind === kind)).find(({ sizeBytes }) => sizeBytes <= BIGGEST_BYTES);
    const worst = worstSpace(overview);
    const peak = worst && worst.peakStep >= 0 ? `, its true peak is ${human(worst.peakLiveBytes)}` : "";
    const [sibling, map] = [small ? `Open the ${small.kind} file` : "", "Show Memory Map"];
    const choice = await vscode.window.showInformationMessage(
      `VS Code gives extensions no text of files over ${human(BIGGEST_BYTES)}, and this one has ${human(size)}: no hovers in it. The dump is read from disk${peak}; tree, map and reports work.`,
      ...[sibling, map].filter(Boolean),
    );
    if (choice === map) await vscode.commands.executeCommand(`${SECTION}.showMemoryMap`);
    else if (choice && small) await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(small.uri));
  }

  const lookAt = (uri: vscode.Uri | undefined) => void look(uri).catch(() => undefined);
  lookAt(dumpOf(vscode.window.tabGroups.activeTabGroup.activeTab));
  return sets.onDidView(lookAt);
}
