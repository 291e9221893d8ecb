/** Compares two dumps: *Compare with…*, and *Select for Compare* and *Compare with Selected* as for files. */

import { basename } from "node:path";
import * as vscode from "vscode";

import type { ModuleSummary } from "../shared/protocol";
import { mainSpace } from "../shared/spaces";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";

/** A dump to choose; without a URI, a file from disk. */
interface Choice extends vscode.QuickPickItem {
  uri?: vscode.Uri;
}

export class Comparing {
  private selected: vscode.Uri | undefined;

  constructor(
    private readonly server: Server,
    private readonly sets: Sets,
  ) {}

  /** Lets the user choose the old dump: another module of the workspace, or a file. */
  async compareWith(uri: vscode.Uri): Promise<void> {
    const [overview, answer] = await Promise.all([
      this.sets.overview(uri),
      this.server.execute("xla-lens.modules", {}).catch(() => undefined),
    ]);
    const module = overview?.module ?? "";
    const own = new Set([uri, ...(overview?.files ?? []).map((file) => vscode.Uri.parse(file.uri))].map(String));
    const others = (answer?.modules ?? []).filter((one) => !own.has(vscode.Uri.parse(one.uri).toString()));
    // Modules with the same name come first: most likely, they are other compilations of the program.
    const [same, rest] = [others.filter((one) => one.module === module), others.filter((one) => one.module !== module)];
    const items: Choice[] = [
      ...same.map(choiceOf),
      { label: "Choose a File…", iconPath: new vscode.ThemeIcon("folder-opened"), alwaysShow: true },
      ...rest.map(choiceOf),
    ];
    const placeHolder = `Select the older dump to compare ${module || basename(uri.path)} with`;
    const choice = await vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true });
    if (!choice) return;
    const defaultUri = vscode.Uri.joinPath(uri.with({ scheme: "file" }), "..");
    const old = choice.uri ?? (await vscode.window.showOpenDialog({ title: placeHolder, defaultUri }))?.[0];
    if (old) await this.compare(old, uri);
  }

  async select(uri: vscode.Uri): Promise<void> {
    this.selected = uri;
    // The menus of the editor offer the comparison at once, and code actions as soon as the server knows of it.
    await vscode.commands.executeCommand("setContext", `${SECTION}.hasSelectedForCompare`, true);
    await this.server.execute("xla-lens.selectForCompare", { uri: uri.toString() });
    vscode.window.setStatusBarMessage(`$(check) Selected ${basename(uri.path)} for comparison`, 5000);
  }

  compareWithSelected(uri: vscode.Uri): Promise<void> {
    return this.selected ? this.compare(this.selected, uri) : this.compareWith(uri);
  }

  /** Shows how a dump differs from an older one. */
  async compare(old: vscode.Uri, uri: vscode.Uri): Promise<void> {
    const title = "Comparing two dumps";
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    await vscode.window.withProgress(options, async (_progress, token) => {
      try {
        await this.server.execute("xla-lens.compare", { old: old.toString(), new: uri.toString() }, token);
      } catch (error) {
        if (!token.isCancellationRequested) throw error;
      }
    });
  }
}

function choiceOf({ module, uri, spaces }: ModuleSummary): Choice {
  const [file, main] = [vscode.Uri.parse(uri), mainSpace(spaces)];
  const description = main && main.peak_step !== null ? `${main.peak} of ${main.name}` : "";
  return {
    label: module || basename(file.path),
    description,
    detail: vscode.workspace.asRelativePath(file),
    uri: file,
  };
}
