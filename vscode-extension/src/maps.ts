/** The memory map: one page for each dump set, beside the text. The page and the text follow each other. */

import { readFile, rm } from "node:fs/promises";
import * as vscode from "vscode";

import type { MessageFromMap, MessageToMap, Side, Target } from "../shared/messages";
import type { ComparedMaps, Description, MemoryMap, WhatIsAt } from "../shared/protocol";
import { sourceLine } from "../shared/sources";
import type { Follower } from "./cursor";
import { PAGE_SCHEME } from "./documents";
import { goTo, show } from "./locations";
import { htmlOf } from "./pages";
import { LINKED_COMMANDS, type Server } from "./server";
import { MAP_TYPE, type Sets } from "./sets";

export class Maps implements Follower, vscode.Disposable {
  private readonly panels = new Map<string, MapPanel>();
  private readonly opened = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];

  /** Fires when a map that the user opened has been sent to its page. */
  readonly onDidOpen = this.opened.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly sets: Sets,
  ) {
    this.subscriptions = [
      this.opened,
      server.onDidRestart(() => this.panels.forEach((panel) => void panel.load())),
      server.onDidLoad(({ uris }) => {
        const loaded = uris.map((uri) => vscode.Uri.parse(uri).toString());
        for (const panel of this.panels.values()) if (panel.shows(loaded)) void panel.load();
      }),
      vscode.window.registerWebviewPanelSerializer(MAP_TYPE, {
        deserializeWebviewPanel: async (panel, state: { uri?: string } | undefined) => {
          if (state?.uri) this.add(panel, vscode.Uri.parse(state.uri));
          else panel.dispose();
        },
      }),
    ];
  }

  get isVisible(): boolean {
    return [...this.panels.values()].some(({ panel }) => panel.visible);
  }

  /** Shows the map of the set of a file beside the text, and moves the focus into it. */
  async show(uri: vscode.Uri, preserveFocus = false): Promise<void> {
    const known = isComparison(uri) ? uri.toString() : (await this.sets.overview(uri))?.uri;
    const existing = known && this.panels.get(known);
    if (existing) {
      existing.reveal(preserveFocus);
      return;
    }
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(MAP_TYPE, "Memory Map", where);
    const map = this.add(panel, known ? vscode.Uri.parse(known) : uri);
    map.drawn = (isFirst) => {
      this.opened.fire();
      // Followers ask for the active editor when the map has been drawn, so that the focus moves after that.
      if (isFirst) map.reveal(preserveFocus);
    };
  }

  async follow(uri: vscode.Uri, at: WhatIsAt): Promise<void> {
    (await this.panelOf(uri))?.post({ type: "cursor", ...at });
  }

  /** Shows the flame graph in the map of the set of a file, and moves the focus into it. */
  async showFlame(uri: vscode.Uri): Promise<void> {
    await this.show(uri);
    (await this.panelOf(uri))?.showFlame();
  }

  /** Makes some values of the set of a file stand out in its map, or all again if there are none. */
  async light(uri: vscode.Uri, name: string, values: number[]): Promise<void> {
    (await this.panelOf(uri))?.light({ type: "light", name, values });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { panel } of this.panels.values()) panel.dispose();
  }

  private async panelOf(uri: vscode.Uri): Promise<MapPanel | undefined> {
    return this.panels.get((await this.sets.overview(uri))?.uri ?? "");
  }

  private add(panel: vscode.WebviewPanel, uri: vscode.Uri): MapPanel {
    const key = uri.toString();
    this.panels.get(key)?.panel.dispose();
    const map = new MapPanel(panel, uri, this.context.extensionUri, this.server, this.sets);
    this.panels.set(key, map);
    panel.onDidDispose(() => {
      if (this.panels.get(key) === map) this.panels.delete(key);
    });
    return map;
  }
}

class MapPanel {
  private isReady = false;
  private isFirst = true;
  private isLoading = false;
  private isStale = false;
  private compared: ComparedMaps | undefined;
  /** The values that stand out, also for a page that is not drawn yet. */
  private lit: MessageToMap | undefined;
  private isFlameWanted = false;
  private watchers: vscode.Disposable[] = [];

  /** Called when the map has been sent to the page: for the first time, or after the set was reloaded. */
  drawn?: (isFirst: boolean) => void;

  constructor(
    readonly panel: vscode.WebviewPanel,
    private readonly uri: vscode.Uri,
    extension: vscode.Uri,
    private readonly server: Server,
    private readonly sets: Sets,
  ) {
    const icon = (theme: string) => vscode.Uri.joinPath(extension, "media", `map-${theme}.svg`);
    panel.iconPath = { light: icon("light"), dark: icon("dark") };
    panel.webview.onDidReceiveMessage((message: MessageFromMap) => void this.receive(message));
    panel.onDidChangeViewState(() => {
      if (panel.active) sets.view(uri);
    });
    panel.onDidDispose(() => {
      this.isReady = false;
      this.watch([]);
    });
    // Part of the Python package, since reports of the command line embed the same files.
    const folder = vscode.Uri.joinPath(extension, "server", "libraries", "xla_lens", "memory_map");
    panel.webview.options = { enableScripts: true, localResourceRoots: [folder] };
    panel.webview.html = pageHtml(panel.webview, folder);
  }

  /** Whether the page shows the set of some files, by itself or compared with another one. */
  shows(uris: readonly string[]): boolean {
    return this.files.some((file) => uris.includes(file.toString()));
  }

  reveal(preserveFocus: boolean): void {
    // A page that leads to values in the map keeps the focus, and must not be covered by the map.
    const isBehind = this.panel.viewColumn === vscode.window.tabGroups.activeTabGroup.viewColumn && !this.panel.active;
    this.panel.reveal(preserveFocus && isBehind ? vscode.ViewColumn.Beside : undefined, preserveFocus);
  }

  light(message: MessageToMap): void {
    this.lit = message;
    this.post(message);
  }

  showFlame(): void {
    this.isFlameWanted = true;
    if (!this.isFirst) this.postFlame();
  }

  /** Shows the flame graph if that is wanted, once: the reader may go back to the rectangles. */
  private postFlame(): void {
    if (this.isFlameWanted) this.post({ type: "flame" });
    this.isFlameWanted = false;
  }

  /** A file of the set, or of each of the two that are compared. */
  private get files(): vscode.Uri[] {
    return this.compared ? [this.uriOf("old"), this.uriOf("new")] : [this.uri];
  }

  /** Reads the answer of a command from the file that the server writes it to. Undefined if there is no server. */
  private async read<Answer>(command: "xla-lens.comparedMaps" | "xla-lens.memoryMap"): Promise<Answer | undefined> {
    const file = await this.server.execute(command, { uri: this.uri.toString(), as_file: true });
    if (!file) return undefined;
    try {
      return JSON.parse(await readFile(file.path, "utf8")) as Answer;
    } finally {
      await rm(file.path, { force: true });
    }
  }

  /** Sends the current map of the set to the page. During a load, schedules one more load instead. */
  async load(): Promise<void> {
    this.isStale = this.isLoading;
    if (!this.isReady || this.isLoading) return;
    this.isLoading = true;
    try {
      this.compared = isComparison(this.uri) ? await this.read<ComparedMaps>("xla-lens.comparedMaps") : undefined;
      const map = this.compared?.new ?? (await this.read<MemoryMap>("xla-lens.memoryMap"));
      if (!map) throw new Error("The XLA Lens server is not running.");
      const title = this.compared ? "Compared Maps" : "Memory Map";
      this.panel.title = map.module ? `${title}: ${map.module}` : title;
      this.post({ type: "map", uri: this.uri.toString(), map, ...(this.compared && { other: this.compared.old }) });
      if (this.lit) this.post(this.lit);
      this.postFlame();
      this.watch(this.files);
      this.drawn?.(this.isFirst);
      this.isFirst = false;
    } catch (error) {
      this.post({ type: "problem", message: error instanceof Error ? error.message : `${error}` });
    } finally {
      this.isLoading = false;
    }
    if (this.isStale) await this.load();
  }

  /** Says on the page when one of some files is deleted, and shows the map again when it is back. */
  private watch(files: vscode.Uri[]): void {
    for (const watcher of this.watchers) watcher.dispose();
    this.watchers = files.map((file) => {
      const isOwn = ({ path }: vscode.Uri) => path === file.path;
      const folder = new vscode.RelativePattern(vscode.Uri.joinPath(file, ".."), "*");
      const watcher = vscode.workspace.createFileSystemWatcher(folder, false, true, false);
      watcher.onDidDelete((deleted) => {
        if (!isOwn(deleted)) return;
        const message = `${file.path.split("/").pop()} was deleted. The map shows what it contained.`;
        this.post({ type: "problem", message });
        this.panel.title += " (deleted)";
      });
      watcher.onDidCreate((created) => isOwn(created) && void this.load());
      return watcher;
    });
  }

  private async receive(message: MessageFromMap): Promise<void> {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        return this.load();
      case "describe": {
        const { target, side } = message;
        const description = await this.describe(target, side);
        if (description) this.post({ type: "described", target, markdown: description.markdown });
        return;
      }
      case "goTo":
        return message.side ? this.goToBoth(message.target, message.side) : this.goTo(message.target);
      case "goToInstruction":
        return this.goToInstruction(message.value);
      case "openSource": {
        const line = sourceLine(message.source);
        return line && vscode.commands.executeCommand("xla-lens.goTo", line);
      }
      case "open":
        return this.open(message.href);
    }
  }

  /** The hover and the location of a target of the set, or of a dump that is compared, whose steps are those of the common axis. */
  private describe(target: Target, side?: Side, uri = this.uriOf(side)): Promise<Description | undefined> {
    const step = side && "step" in target ? this.compared?.[side].comparison?.own_step[target.step] : undefined;
    const own = step === undefined ? target : { step: Math.max(0, step) };
    return this.server.execute("xla-lens.describe", { ...own, uri: uri.toString() }).catch(() => undefined);
  }

  /** Goes to a target. The map keeps the focus. Prefers a visible file of the set, if that mentions the target. */
  private async goTo(target: Target): Promise<void> {
    const overview = await this.sets.overview(this.uri);
    const files = new Set(overview?.files.map(({ uri }) => vscode.Uri.parse(uri).toString()));
    const shown = vscode.window.visibleTextEditors.map(({ document }) => document.uri);
    const visible = shown.find((uri) => files.has(uri.toString()));
    const description = await this.describe(target, undefined, visible);
    if (description) await goTo(description.location, { preserveFocus: true });
  }

  /** A file of the set: with a side, that of a comparison. */
  private uriOf(side?: Side): vscode.Uri {
    if (!side || !this.compared) return this.uri;
    return vscode.Uri.parse(side === "old" ? this.compared.old_uri : this.compared.new_uri);
  }

  /** Goes to a target in its dump, and beside it to its counterpart in the dump that it is compared with. */
  private async goToBoth(target: Target, side: Side): Promise<void> {
    const other = side === "old" ? "new" : "old";
    const partner = "value" in target ? (this.compared?.[side].comparison?.partner[target.value] ?? -1) : -1;
    const first = await this.describe(target, side);
    const isKnown = "step" in target || partner >= 0;
    const second = isKnown ? await this.describe("value" in target ? { value: partner } : target, other) : undefined;
    const [old, now] = side === "old" ? [first, second] : [second, first];
    const columns = vscode.window.tabGroups.all.map(({ viewColumn }) => viewColumn);
    const [left, right] = columns.filter((column) => column !== this.panel.viewColumn);
    if (old) await goTo(old.location, { viewColumn: left ?? vscode.ViewColumn.Beside, preserveFocus: true });
    const beside = right ?? (old ? vscode.ViewColumn.Beside : (left ?? vscode.ViewColumn.Beside));
    if (now) await goTo(now.location, { viewColumn: beside, preserveFocus: true });
  }

  /** Goes to the instruction of a value in the HLO module. */
  private async goToInstruction(value: number): Promise<void> {
    const overview = await this.sets.overview(this.uri);
    const module = overview?.files.find(({ kind }) => kind === "hlo");
    const location = module && (await this.describe({ value }, undefined, vscode.Uri.parse(module.uri)))?.location;
    if (location && location.uri === module?.uri) return goTo(location);
    const problem = module ? "The HLO module does not have this value." : "This dump has no HLO module.";
    void vscode.window.showInformationMessage(problem);
  }

  /** Follows a link of a hover: to a file or a page, or to a command that only goes somewhere. */
  private async open(href: string): Promise<void> {
    const uri = vscode.Uri.parse(href);
    if (uri.scheme === "command") {
      if (!LINKED_COMMANDS.includes(uri.path)) return;
      await vscode.commands.executeCommand(uri.path, ...(JSON.parse(uri.query || "[]") as unknown[]));
    } else if (uri.scheme === this.uri.scheme || uri.scheme === PAGE_SCHEME) {
      await show(href);
    }
  }

  /** Sends a message unless the page was closed meanwhile. */
  post(message: MessageToMap): void {
    if (this.isReady) void this.panel.webview.postMessage(message);
  }
}

/** Whether a file is the page of a comparison, whose map shows both dumps. */
function isComparison({ scheme, path }: vscode.Uri): boolean {
  return scheme === PAGE_SCHEME && path.endsWith("/comparison.txt");
}

function pageHtml(webview: vscode.Webview, folder: vscode.Uri): string {
  const [script, style] = ["page.js", "page.css"].map((name) =>
    webview.asWebviewUri(vscode.Uri.joinPath(folder, name)),
  );
  const policy = `script-src ${webview.cspSource}; style-src ${webview.cspSource}`;
  const head = `<title>Memory Map</title>\n<link rel="stylesheet" href="${style}">`;
  return htmlOf(policy, head, `<div id="app"></div>\n<script src="${script}"></script>`);
}
