/** The memory of Python files: at the ends of their lines, behind them, in hovers and code lenses. */

import * as vscode from "vscode";

import { human } from "../shared/numbers";
import type { SourceLineMemory, SourceMemory, ValueEntry } from "../shared/protocol";
import { colorLines, STALE } from "./heat";
import { latestOnly } from "./latest";
import { goTo } from "./locations";
import type { Maps } from "./maps";
import { LINKED_COMMANDS, SECTION, type Server } from "./server";
import type { Sets } from "./sets";

const PYTHON: vscode.DocumentSelector = { language: "python", scheme: "file" };
const SETTING = "sourceLines.enable";

/** Debounces what makes the memory of files stale, and edits. */
const DEBOUNCE_MS = 150;

/**
 * Shows how much of the peak comes from each line of the Python files in view: for the dump set in view if it names the file,
 * else for the one with the greatest peak that does.
 */
export class SourceLines implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem(`${SECTION}.sourceLines`, vscode.StatusBarAlignment.Right, 99);
  private readonly memories = new Map<string, SourceMemory | undefined>();
  /** The files that the server has looked up in closed dumps of the workspace. */
  private readonly searched = new Set<string>();
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  private readonly labels = vscode.window.createTextEditorDecorationType({ isWholeLine: false });
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private lit = "";
  isOn = this.setting;
  private readonly begin = latestOnly();
  private hasDumps: Thenable<boolean> | undefined;

  constructor(
    private readonly server: Server,
    private readonly sets: Sets,
    private readonly maps: Maps,
  ) {
    this.item.name = "XLA Lens: memory on source lines";
    this.item.command = `${SECTION}.toggleSourceLines`;
    const refreshSoon = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.refresh(), DEBOUNCE_MS);
    };
    // The editor moves what is shown while the user types. Once they pause, the server says where it is.
    const edited = (document: vscode.TextDocument) => this.memoryOf(document) && refreshSoon();
    this.subscriptions = [
      this.item,
      this.lensesChanged,
      this.labels,
      server.onDidLoad(refreshSoon),
      server.onDidRestart(() => {
        this.searchAgain();
        refreshSoon();
      }),
      sets.onDidView(refreshSoon),
      maps.onDidOpen(() => this.follow(vscode.window.activeTextEditor)),
      vscode.window.onDidChangeVisibleTextEditors(refreshSoon),
      vscode.window.onDidChangeActiveTextEditor(() => this.update()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => edited(document)),
      vscode.workspace.onDidSaveTextDocument(edited),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.${SETTING}`)) void this.turn(this.setting);
      }),
      vscode.languages.registerHoverProvider(PYTHON, { provideHover: (document, at) => this.hover(document, at) }),
      vscode.languages.registerCodeLensProvider(PYTHON, {
        onDidChangeCodeLenses: this.lensesChanged.event,
        provideCodeLenses: (document) => this.lenses(document),
      }),
    ];
    refreshSoon();
  }

  /** A file of the dump that the active editor shows the memory of. */
  get dump(): vscode.Uri | undefined {
    const memory = this.memoryOf(vscode.window.activeTextEditor?.document);
    return memory && vscode.Uri.parse(memory.uri);
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private get setting(): boolean {
    return vscode.workspace.getConfiguration(SECTION).get<boolean>(SETTING, true);
  }

  /** Shows the memory or hides it. If the user asks for it, says why there is none. */
  async turn(isOn: boolean, isAsked = false): Promise<void> {
    this.isOn = isOn;
    this.searchAgain();
    await this.refresh();
    const document = vscode.window.activeTextEditor?.document;
    if (!isOn || !isAsked || this.memoryOf(document)) return;
    const problem = isPython(document)
      ? "No dump of this workspace has bytes at its peak from this file. If the program was compiled elsewhere, map its folder with the setting xla-lens.sources.pathMapping."
      : "Open a Python file first.";
    void vscode.window.showInformationMessage(problem);
  }

  /** Asks for the memory of the files in view. */
  private async refresh(): Promise<void> {
    const isLatest = this.begin();
    const documents = vscode.window.visibleTextEditors.map(({ document }) => document).filter(isPython);
    const keys = [...new Set(documents.map(({ uri }) => uri.toString()))];
    const found = await Promise.all(keys.map((key) => (this.isOn ? this.ask(key) : undefined)));
    if (!isLatest()) return;
    if (!this.isOn) this.memories.clear();
    for (const [index, key] of keys.entries()) this.memories.set(key, found[index]);
    this.update();
  }

  private async ask(uri: string): Promise<SourceMemory | undefined> {
    const search = !this.searched.has(uri) && (await this.workspaceHasDumps());
    // A Python file starts the server only where it can have memory.
    if (!search && !this.server.isStarted) return undefined;
    this.searched.add(uri);
    const dump = this.sets.inView?.toString();
    return this.server.execute("xla-lens.sourceMemory", { uri, search, ...(dump && { dump }) }).then(
      (memory) => memory ?? undefined,
      // Without an answer, as while the dump is loaded again, the memory stays until that load is announced.
      () => this.memories.get(uri),
    );
  }

  private workspaceHasDumps(): Thenable<boolean> {
    this.hasDumps ??= vscode.workspace
      .findFiles("**/*-buffer-assignment.{txt,txt.gz,txt.zst}", undefined, 1)
      .then((found) => found.length > 0);
    return this.hasDumps;
  }

  private searchAgain(): void {
    this.hasDumps = undefined;
    this.searched.clear();
  }

  private memoryOf(document: vscode.TextDocument | undefined): SourceMemory | undefined {
    return document && this.memories.get(document.uri.toString());
  }

  private lineAt(document: vscode.TextDocument, row: number): SourceLineMemory | undefined {
    return this.memoryOf(document)?.lines.find((line) => line.row === row);
  }

  private update(): void {
    for (const editor of vscode.window.visibleTextEditors) this.decorate(editor);
    this.lensesChanged.fire();
    const document = vscode.window.activeTextEditor?.document;
    const memory = this.memoryOf(document);
    void vscode.commands.executeCommand("setContext", `${SECTION}.hasSourceMemory`, memory !== undefined);
    if (!isPython(document) || (this.isOn && !memory)) {
      this.item.hide();
      return;
    }
    this.item.text = memory ? `$(flame) ${human(memory.size_bytes)} in this file` : "$(eye-closed) Memory";
    const names = memory?.others.join(", ");
    const others = names ? ` Other modules that name it: ${names}.` : "";
    this.item.tooltip = memory
      ? `${memory.label} of ${memory.module} come from this file.${others} Click to hide this on the source lines.`
      : "Click to show on the source lines how much of the peak comes from them.";
    this.item.accessibilityInformation = { label: `XLA Lens: ${this.item.tooltip}` };
    this.item.show();
  }

  private decorate(editor: vscode.TextEditor): void {
    // The marks in a schedule are those of `heat.ts`.
    if (!isPython(editor.document)) return;
    const memory = this.memoryOf(editor.document);
    const color = new vscode.ThemeColor(memory?.is_newer ? "disabledForeground" : "editorCodeLens.foreground");
    const shown = (memory?.lines ?? []).flatMap(({ is_shown: isShown, row, label, size_bytes: sizeBytes }) => {
      if (!memory || !isShown) return [];
      const { range } = lineOf(editor.document, row);
      const level = memory.is_newer ? STALE : levelOf(sizeBytes / memory.peak_live_bytes);
      const after = { contentText: label, margin: "0 0 0 3em", color };
      return [{ range, level, label: { range: new vscode.Range(range.end, range.end), renderOptions: { after } } }];
    });
    const labels = shown.map(({ label }) => label);
    editor.setDecorations(this.labels, labels);
    colorLines(editor, shown);
  }

  private hover(document: vscode.TextDocument, { line: row }: vscode.Position): vscode.Hover | undefined {
    const line = this.lineAt(document, row);
    if (!line) return undefined;
    const link = `[Show buffers of this line](command:${SECTION}.showBuffersOfLine)`;
    const text = new vscode.MarkdownString(`${line.markdown}\n\n${link}`);
    text.isTrusted = { enabledCommands: [...LINKED_COMMANDS, `${SECTION}.showBuffersOfLine`] };
    return new vscode.Hover(text);
  }

  private lenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const memory = this.memoryOf(document);
    const isWanted = vscode.workspace.getConfiguration(SECTION).get<boolean>("codeLens.enable", true);
    if (!memory || !isWanted) return [];
    return memory.functions.flatMap(({ row, last_row: lastRow, label }) => {
      const { range } = lineOf(document, row);
      const lens = (title: string, command: string, ...given: unknown[]) =>
        new vscode.CodeLens(range, { title, command: `${SECTION}.${command}`, arguments: given });
      return [
        lens(label, "showBuffersOfLine", document.uri.toString(), row, lastRow),
        lens("Show Memory Map", "showMemoryMap", vscode.Uri.parse(memory.uri)),
        lens("Clear", "toggleSourceLines"),
      ];
    });
  }

  /** Lists the buffers of some lines, by default of that of the cursor, and goes to the one that the user selects. */
  async showBuffers(uri?: unknown, first = 0, last = 0): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const row = editor?.selection.active.line ?? 0;
    // A menu of the editor passes its URI.
    const [memory, from, to] =
      typeof uri === "string" ? [this.memories.get(uri), first, last] : [this.memoryOf(editor?.document), row, row];
    const values = memory?.lines.filter((line) => line.row >= from && line.row <= to).flatMap(({ values }) => values);
    if (!memory || !values?.length) {
      void vscode.window.showInformationMessage("No buffer that is live at the peak comes from this line.");
      return;
    }
    const entries = (await this.server.execute("xla-lens.values", { uri: memory.uri, values })) ?? [];
    const items = entries.toSorted((one, other) => other.size_bytes - one.size_bytes).map(itemOf);
    const place = from === to ? `line ${from + 1}` : `lines ${from + 1}–${to + 1}`;
    const placeHolder = `Live at the ${memory.space} peak of ${memory.module}, from ${place}. Select a buffer to go to`;
    const options = { placeHolder, matchOnDescription: true, matchOnDetail: true };
    const chosen = items.length > 1 ? await vscode.window.showQuickPick(items, options) : items[0];
    const location = chosen?.entry.location;
    if (location) await goTo(location, { viewColumn: vscode.ViewColumn.Beside });
  }

  /** Makes the buffers of the line at the cursor stand out in the memory map. */
  private follow(editor: vscode.TextEditor | undefined): void {
    const memory = this.memoryOf(editor?.document);
    if (!editor || !memory || !this.maps.isVisible) return;
    const line = this.lineAt(editor.document, editor.selection.active.line);
    const name = line ? `${vscode.workspace.asRelativePath(editor.document.uri)}:${line.line}` : "";
    if (name === this.lit) return;
    this.lit = name;
    void this.maps.light(vscode.Uri.parse(memory.uri), name, line?.values ?? []);
  }
}

function isPython(document: vscode.TextDocument | undefined): boolean {
  return document !== undefined && vscode.languages.match(PYTHON, document) > 0;
}

/** A line of a document, which may have become shorter. */
function lineOf(document: vscode.TextDocument, row: number): vscode.TextLine {
  return document.lineAt(Math.min(row, document.lineCount - 1));
}

function itemOf(entry: ValueEntry): vscode.QuickPickItem & { entry: ValueEntry } {
  return {
    label: entry.label,
    description: `${human(entry.size_bytes)}  ${entry.shape}`,
    detail: entry.op_name,
    entry,
  };
}

/** The shares of the peak at which the color changes. */
const LEVELS = [0.05, 0.15, 0.35];

function levelOf(share: number): number {
  return LEVELS.filter((least) => share >= least).length;
}
