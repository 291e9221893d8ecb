/** Dumps that VS Code cannot show as they are: compressed files, and those that XLA printed into a log or a terminal. */

import { createHash } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import * as vscode from "vscode";

import { languageOfLines } from "./recognition";
import { SECTION, type Server } from "./server";

/** Where XLA prints the name of a file that follows. */
const PRINTED = /^\*\*\* Begin [^\s*]+ \*\*\*\r?$/m;

const KEPT_DAYS = 7;

export class Unpacking {
  private readonly root: string;

  constructor(
    context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.root = join(context.globalStorageUri.fsPath, "unpacked");
  }

  /** Registers the editor of compressed files, and the lens above the dumps in a log. */
  register(): vscode.Disposable {
    const selector = [{ language: "plaintext" }, { language: "log" }, { language: "xla-dump" }];
    return vscode.Disposable.from(
      vscode.window.registerCustomEditorProvider(`${SECTION}.compressed`, {
        openCustomDocument: (uri: vscode.Uri) => ({ uri, dispose: () => undefined }),
        resolveCustomEditor: ({ uri }: vscode.CustomDocument, panel: vscode.WebviewPanel) => this.replace(uri, panel),
      }),
      vscode.languages.registerCodeLensProvider(selector, { provideCodeLenses }),
    );
  }

  /** Opens the dumps that a log contains, or a text that is in no file. */
  async open(uri: vscode.Uri | undefined): Promise<void> {
    if (!uri) throw new Error("Open the log of a program that ran with --xla_dump_to=- first.");
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const isOnDisk = uri.scheme === "file" && !document?.isDirty;
    const uris = await this.unpack(uri, isOnDisk ? undefined : document?.getText());
    const items = uris.map((one) => ({ label: basename(one.path), uri: one }));
    const placeHolder = "Select a dump to open; the biggest is first";
    const chosen = items.length > 1 ? await vscode.window.showQuickPick(items, { placeHolder }) : items[0];
    if (chosen) await vscode.commands.executeCommand("vscode.open", chosen.uri);
  }

  /** Shows a compressed file as text, in place of its own editor. */
  private async replace(uri: vscode.Uri, panel: vscode.WebviewPanel): Promise<void> {
    const { viewColumn } = panel;
    try {
      const [plain] = await this.unpack(uri);
      if (!plain) throw new Error("it cannot be read");
      panel.dispose();
      await vscode.commands.executeCommand("vscode.open", plain, { viewColumn });
    } catch (error) {
      const why = error instanceof Error ? error.message : `${error}`;
      panel.webview.html = `<p>${basename(uri.path)}: ${why.replaceAll(/[<&]/g, (one) => (one === "<" ? "&lt;" : "&amp;"))}</p>`;
    }
  }

  /** Writes the dumps of a file into the storage of the extension. Returns the file to show of each. */
  private async unpack(uri: vscode.Uri, text?: string): Promise<vscode.Uri[]> {
    await this.clean();
    const folder = join(this.root, createHash("sha256").update(uri.toString()).digest("hex").slice(0, 16));
    const argument = { uri: uri.toString(), folder, ...(text !== undefined && { text }) };
    const title = `Unpacking ${basename(uri.path)}`;
    const answer = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, async () =>
      this.server.execute("xla-lens.unpackDumps", argument),
    );
    return (answer?.uris ?? []).map((one) => vscode.Uri.parse(one));
  }

  /** Deletes what was unpacked long ago. */
  private async clean(): Promise<void> {
    const names = await readdir(this.root).catch(() => []);
    for (const name of names) {
      const folder = join(this.root, name);
      const { mtimeMs } = await stat(folder);
      if (Date.now() - mtimeMs > KEPT_DAYS * 24 * 3600 * 1000) await rm(folder, { recursive: true, force: true });
    }
  }
}

function provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
  const at = document.getText().search(PRINTED);
  if (at < 0) return [];
  const { range } = document.lineAt(document.positionAt(at).line);
  const command = `${SECTION}.openPrintedDumps`;
  return [new vscode.CodeLens(range, { title: "open the dumps in this log", command, arguments: [document.uri] })];
}

/** Opens what is selected in the terminal as a new document, in which dumps and out-of-memory messages are recognized. */
export async function openTerminalSelection(): Promise<void> {
  const before = await vscode.env.clipboard.readText();
  await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
  const content = await vscode.env.clipboard.readText();
  await vscode.env.clipboard.writeText(before);
  if (!content.trim()) throw new Error("Select a text in the terminal first.");
  const language = languageOfLines(content.split("\n")) ?? "log";
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language }));
}
