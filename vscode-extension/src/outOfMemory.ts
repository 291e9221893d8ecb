/** Explains the out-of-memory messages in logs, on a page that `xla-lens oom` writes. */

import { spawn } from "node:child_process";
import { basename, dirname } from "node:path";
import * as vscode from "vscode";

import { show } from "./locations";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";

/** The scheme of the pages about logs. */
const SCHEME = "xla-lens-log";

const COMMAND = `${SECTION}.explainOutOfMemory`;

/** What the messages that leave a program without memory contain; the server recognizes more. */
const MESSAGE =
  /RESOURCE_EXHAUSTED|[Rr]an out of memory|Out of memory (?:while|allocating)|Attempting to (?:reserve|allocate)|exceeding available|would exceed memory|exceeded scoped/;

/** Registers the command, the pages that it opens, and the lens above the first message of a log. */
export function registerOutOfMemory(server: Server, sets: Sets): vscode.Disposable {
  const pages = new Map<string, string>();
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const register = (name: string, run: (given?: unknown) => unknown) =>
    vscode.commands.registerCommand(`${SECTION}.${name}`, run);
  return vscode.Disposable.from(
    changed,
    register("explainOutOfMemory", async (given?: unknown) => {
      try {
        const uri = await writePage(server, sets, pages, given instanceof vscode.Uri ? given : undefined);
        if (!uri) return;
        changed.fire(uri);
        await show(uri.toString());
      } catch (error) {
        void vscode.window.showErrorMessage(`XLA Lens: ${error instanceof Error ? error.message : error}`);
      }
    }),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => pages.get(uri.toString()) ?? "Run *Explain Out-of-Memory Message* again.",
    }),
    vscode.languages.registerCodeLensProvider(
      [
        { scheme: "file", language: "plaintext" },
        { scheme: "file", language: "log" },
        { scheme: "file", pattern: "**/*.{log,err,out}" },
      ],
      { provideCodeLenses },
    ),
  );
}

function provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
  const at = document.getText().search(MESSAGE);
  if (at < 0) return [];
  const { range } = document.lineAt(document.positionAt(at).line);
  return [
    new vscode.CodeLens(range, { title: "explain out-of-memory message", command: COMMAND, arguments: [document.uri] }),
  ];
}

/**
 * Explains the messages in a log, or in the selection or the text of the active editor, and returns the page. Without a
 * message, says so.
 */
async function writePage(
  server: Server,
  sets: Sets,
  pages: Map<string, string>,
  given: vscode.Uri | undefined,
): Promise<vscode.Uri | undefined> {
  const editor = vscode.window.activeTextEditor;
  const uri = given ?? editor?.document.uri;
  if (!uri) {
    void vscode.window.showInformationMessage("Open the log of the program, or select its out-of-memory message.");
    return undefined;
  }
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  const selected = given || !editor || editor.selection.isEmpty ? undefined : editor.document.getText(editor.selection);
  // A file without a document is too large for the editor, and a document may have changes that are not saved.
  const isOnDisk = uri.scheme === "file" && !document?.isDirty;
  const text = selected ?? (isOnDisk ? undefined : document?.getText());
  await server.start();
  // Without a program, the user has seen a message.
  const [program, ...args] = server.program;
  if (program === undefined) return undefined;
  const folder = await dumpFolder(uri, sets);
  const words = [...args, "oom", text === undefined ? uri.fsPath : "-", ...(folder ? [folder] : [])];
  const title = "Explaining the out-of-memory message";
  const { output, problem } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title },
    () => run(program, [...words, "--output-format", "markdown"], text ?? ""),
  );
  if (!output) {
    void vscode.window.showInformationMessage(problem.trim().replace("<stdin>", basename(uri.path)));
    return undefined;
  }
  const page = vscode.Uri.from({ scheme: SCHEME, path: `${uri.path.replace(/^(?!\/)/, "/")}-explained.md` });
  pages.set(page.toString(), output.replaceAll("<stdin>", basename(uri.path)));
  return page;
}

/** The folder with the dumps that the message of a log may be about: that of the log, or else that of the dump in view. */
async function dumpFolder(log: vscode.Uri, sets: Sets): Promise<string | undefined> {
  if (log.scheme === "file") {
    const folder = dirname(log.fsPath);
    const pattern = new vscode.RelativePattern(vscode.Uri.file(folder), "**/*-buffer-assignment.txt");
    if ((await vscode.workspace.findFiles(pattern, null, 1)).length) return folder;
  }
  const overview = sets.inView && (await sets.overview(sets.inView));
  return overview && dirname(vscode.Uri.parse(overview.uri).fsPath);
}

/** Runs a program to its end, with a text as its input. */
function run(program: string, args: string[], input: string): Promise<{ output: string; problem: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { windowsHide: true });
    let [output, problem] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      output += part;
    });
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      problem += part;
    });
    child.on("error", reject);
    child.on("close", () => resolve({ output, problem }));
    // The program may end before it has read everything.
    child.stdin.on("error", () => undefined).end(input);
  });
}
