/** The memory of Python files: at the ends of their lines, behind them, in hovers and code lenses. */

import * as vscode from "vscode";

import { human } from "../shared/numbers";
import type { SourceLineMemory, SourceMemory, ValueEntry } from "../shared/protocol";
import { HEATS, STALE } from "./heat";
import { latestOnly } from "./latest";
import { goTo } from "./locations";
import type { Maps } from "./maps";
import { LINKED_COMMANDS, SECTION, type Server } from "./server";
import type { Sets } from "./sets";

const PYTHON: vscode.DocumentSelector = { language: "python", scheme: "file" };
const SETTING = "sourceLines.enable";

/** Debounces what makes the memory of files stale, and edits. */
const DEBOUNCE_MS = 150;

/** A Python file that is open. */
interface SourceFile {
  memory: SourceMemory | undefined;
  /** Whether dumps of the workspace that nobody has opened were searched for the file. */
  isSearched: boolean;
}

/**
 * Shows how much of the peak comes from each line of the Python files in view: for the dump set in view if it names the file,
 * else for the one with the greatest peak that does.
 */
export class SourceLines implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem(`${SECTION}.sourceLines`, vscode.StatusBarAlignment.Right, 99);
  private readonly files = new Map<string, SourceFile>();
  private readonly lensesChanged = new vscode.EventEmitter<void>();
  private readonly labels = vscode.window.createTextEditorDecorationType({ isWholeLine: false });
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private lit = "";
  private isOn = this.setting;
  private readonly begin = latestOnly();
  private hasDumps: Thenable<boolean> | undefined;

  constructor(
    private readonly server: Server,
    private readonly sets: Sets,
    private readonly maps: Maps,
  ) {
    this.item.name = "XLA Lens: memory on source lines";
    this.item.command = `${SECTION}.toggleSourceLines`;
    const refreshSoon = () => this.soon(() => this.refresh());
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
      vscode.workspace.onDidOpenTextDocument((document) => this.track(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.files.delete(uri.toString())),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.edited(document)),
      vscode.workspace.onDidSaveTextDocument((document) => this.edited(document)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.${SETTING}`)) void this.turn(this.setting);
      }),
      vscode.languages.registerHoverProvider(PYTHON, { provideHover: (document, at) => this.hover(document, at) }),
      vscode.languages.registerCodeLensProvider(PYTHON, {
        onDidChangeCodeLenses: this.lensesChanged.event,
        provideCodeLenses: (document) => this.lenses(document),
      }),
    ];
    for (const document of vscode.workspace.textDocuments) this.track(document);
    refreshSoon();
  }

  /** What is shown of a file, for tests: the text at the end of each line, by its number from 1. */
  shown(uri: vscode.Uri): Record<number, string> {
    const file = this.files.get(uri.toString());
    const lines = file && this.isOn ? (file.memory?.lines.filter(({ isShown }) => isShown) ?? []) : [];
    return Object.fromEntries(lines.map((line) => [line.row + 1, line.label]));
  }

  /** A file of the dump that the active editor shows the memory of. */
  get dump(): vscode.Uri | undefined {
    const memory = this.files.get(`${vscode.window.activeTextEditor?.document.uri}`)?.memory;
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
    const editor = vscode.window.activeTextEditor;
    const file = editor && this.files.get(editor.document.uri.toString());
    if (!isOn || !isAsked || file?.memory) return;
    const problem = file
      ? "No dump of this workspace has bytes at its peak from this file. If the program was compiled elsewhere, map its folder with the setting xla-lens.sources.pathMapping."
      : "Open a Python file first.";
    void vscode.window.showInformationMessage(problem);
  }

  toggle(): Promise<void> {
    return this.turn(!this.isOn, true);
  }

  private soon(run: () => unknown): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(run, DEBOUNCE_MS);
  }

  // ---------------------------------------------------------------- files

  private track(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    if (!vscode.languages.match(PYTHON, document) || this.files.has(key)) return;
    this.files.set(key, { memory: undefined, isSearched: false });
  }

  /** The editor moves what is shown while the user types. Once they pause, the server says where it is. */
  private edited({ uri }: vscode.TextDocument): void {
    if (this.files.get(uri.toString())?.memory) this.soon(() => this.refresh());
  }

  /** Asks for the memory of the files in view. */
  private async refresh(): Promise<void> {
    const isLatest = this.begin();
    const documents = vscode.window.visibleTextEditors.map(({ document }) => document);
    await Promise.all(
      [...new Set(documents)].map(async ({ uri }) => {
        const file = this.files.get(uri.toString());
        if (!file) return;
        const memory = this.isOn ? await this.ask(uri, file) : undefined;
        if (isLatest()) file.memory = memory;
      }),
    );
    if (isLatest()) this.update();
  }

  private async ask(uri: vscode.Uri, file: SourceFile): Promise<SourceMemory | undefined> {
    const search = !file.isSearched && (await this.workspaceHasDumps());
    // A Python file starts the server only where it can have memory.
    if (!search && !this.server.isStarted) return undefined;
    file.isSearched = true;
    const dump = this.sets.inView?.toString();
    const given = { uri: uri.toString(), search, ...(dump && { dump }) };
    return this.server.execute("xla-lens.sourceMemory", given).then(
      (memory) => memory ?? undefined,
      // Without an answer, as while the dump is loaded again, the memory stays until that load is announced.
      () => file.memory,
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
    for (const file of this.files.values()) file.isSearched = false;
  }

  private lineAt(document: vscode.TextDocument, row: number): SourceLineMemory | undefined {
    const file = this.files.get(document.uri.toString());
    return this.isOn ? file?.memory?.lines.find((line) => line.row === row) : undefined;
  }

  // ---------------------------------------------------------------- what is shown

  private update(): void {
    for (const editor of vscode.window.visibleTextEditors) this.decorate(editor);
    this.lensesChanged.fire();
    this.updateItem();
    const editor = vscode.window.activeTextEditor;
    const memory = editor && this.files.get(editor.document.uri.toString())?.memory;
    void vscode.commands.executeCommand("setContext", `${SECTION}.hasSourceMemory`, memory !== undefined);
  }

  private updateItem(): void {
    const document = vscode.window.activeTextEditor?.document;
    const file = document && this.files.get(document.uri.toString());
    if (!file || (this.isOn && !file.memory)) {
      this.item.hide();
      return;
    }
    const { memory } = file;
    this.item.text = memory ? `$(flame) ${human(memory.sizeBytes)}` : "$(eye-closed) Memory";
    const others = memory?.others.length
      ? ` Other modules that name it: ${memory.others.map(({ module }) => module).join(", ")}.`
      : "";
    this.item.tooltip = memory
      ? `${memory.label} of ${memory.module} come from this file.${others} Click to hide this on the source lines.`
      : "Click to show on the source lines how much of the peak comes from them.";
    this.item.accessibilityInformation = { label: `XLA Lens: ${this.item.tooltip}` };
    this.item.show();
  }

  private decorate(editor: vscode.TextEditor): void {
    const file = this.files.get(editor.document.uri.toString());
    // The marks in a schedule are those of `heat.ts`.
    if (!file) return;
    const memory = this.isOn ? file.memory : undefined;
    const labels: vscode.DecorationOptions[] = [];
    const behind: vscode.Range[][] = [...HEATS, STALE].map(() => []);
    for (const line of memory?.lines ?? []) {
      if (!line.isShown) continue;
      const row = Math.min(line.row, editor.document.lineCount - 1);
      const { range } = editor.document.lineAt(row);
      const color = new vscode.ThemeColor(memory!.isNewer ? "disabledForeground" : "editorCodeLens.foreground");
      const after = { contentText: line.label, margin: "0 0 0 3em", color };
      labels.push({ range: new vscode.Range(range.end, range.end), renderOptions: { after } });
      behind[memory!.isNewer ? HEATS.length : level(line.sizeBytes / memory!.peakLiveBytes)]!.push(range);
    }
    editor.setDecorations(this.labels, labels);
    [...HEATS, STALE].forEach((type, index) => {
      editor.setDecorations(type, behind[index]!);
    });
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
    const file = this.files.get(document.uri.toString());
    const { memory } = file ?? {};
    const isWanted = vscode.workspace.getConfiguration(SECTION).get<boolean>("codeLens.enable", true);
    if (!file || !memory || !this.isOn || !isWanted) return [];
    return memory.functions.flatMap(({ row, lastRow, label }) => {
      const { range } = document.lineAt(Math.min(row, document.lineCount - 1));
      const lens = (title: string, command: string, ...given: unknown[]) =>
        new vscode.CodeLens(range, { title, command: `${SECTION}.${command}`, arguments: given });
      return [
        lens(label, "showBuffersOfLine", document.uri.toString(), row, lastRow),
        lens("Show Memory Map", "showMemoryMap", vscode.Uri.parse(memory.uri)),
        lens("Clear", "toggleSourceLines"),
      ];
    });
  }

  // ---------------------------------------------------------------- ways into the dump

  /** Lists the buffers of some lines, by default of that of the cursor, and goes to the one that the user selects. */
  async showBuffers(uri?: unknown, first?: number, last?: number): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    // A menu of the editor passes its URI.
    const key = typeof uri === "string" ? uri : editor?.document.uri.toString();
    const file = key ? this.files.get(key) : undefined;
    const [from, to] = typeof uri === "string" ? [first ?? 0, last ?? 0] : [row(editor), row(editor)];
    const memory = file?.memory;
    const values = memory?.lines.flatMap(({ row, values }) => {
      return row >= from && row <= to ? values : [];
    });
    if (!memory || !values?.length) {
      void vscode.window.showInformationMessage("No buffer that is live at the peak comes from this line.");
      return;
    }
    const entries = (await this.server.execute("xla-lens.values", { uri: memory.uri, values })) ?? [];
    const items = entries.toSorted((one, other) => other.sizeBytes - one.sizeBytes).map(itemOf);
    const place = from === to ? `line ${from + 1}` : `lines ${from + 1}–${to + 1}`;
    const placeHolder = `Live at the ${memory.space} peak of ${memory.module}, from ${place}. Select a buffer to go to`;
    const options = { placeHolder, matchOnDescription: true, matchOnDetail: true };
    const chosen = items.length > 1 ? await vscode.window.showQuickPick(items, options) : items[0];
    const location = chosen?.entry.location;
    if (location) await goTo(location, { viewColumn: vscode.ViewColumn.Beside });
  }

  /** Makes the buffers of the line at the cursor stand out in the memory map. */
  private follow(editor: vscode.TextEditor | undefined): void {
    const memory = editor && this.files.get(editor.document.uri.toString())?.memory;
    if (!editor || !memory || !this.maps.isVisible) return;
    const line = this.lineAt(editor.document, editor.selection.active.line);
    const name = line ? `${vscode.workspace.asRelativePath(editor.document.uri)}:${line.line}` : "";
    if (name === this.lit) return;
    this.lit = name;
    void this.maps.light(vscode.Uri.parse(memory.uri), name, line?.values ?? []);
  }
}

function row(editor: vscode.TextEditor | undefined): number {
  return editor?.selection.active.line ?? 0;
}

function itemOf(entry: ValueEntry): vscode.QuickPickItem & { entry: ValueEntry } {
  return { label: entry.label, description: `${human(entry.sizeBytes)}  ${entry.shape}`, detail: entry.opName, entry };
}

/** The shares of the peak at which the color changes. */
const LEVELS = [0.05, 0.15, 0.35];

function level(share: number): number {
  return LEVELS.filter((least) => share >= least).length;
}
