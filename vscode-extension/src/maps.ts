/** The memory map: a page beside the text, one for each set. The text leads it, and it leads the text. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { Follower } from "./cursor";
import { goTo } from "./places";
import type { Description, FromMap, MemoryMap, Target, ToMap, WhatIsAt } from "./protocol";
import type { Server } from "./server";
import { MAP_TYPE, type Sets } from "./sets";

export class Maps implements Follower, vscode.Disposable {
  private readonly maps = new Map<string, ShownMap>();
  private readonly opened = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly page: Page;

  /** A map that was opened is drawn, or drawn anew. */
  readonly onDidOpen = this.opened.event;

  constructor(
    context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly sets: Sets,
  ) {
    const media = (name: string) => vscode.Uri.joinPath(context.extensionUri, "media", name);
    this.page = {
      // The command line puts it into its reports, too.
      page: vscode.Uri.joinPath(context.extensionUri, "server", "libraries", "xla_lens", "render", "memory_map"),
      icon: { light: media("map-light.svg"), dark: media("map-dark.svg") },
    };
    this.subscriptions = [
      this.opened,
      server.onDidStart(() => this.maps.forEach((map) => void map.load())),
      server.onDidLoad(({ uris }) => uris.forEach((uri) => void this.maps.get(vscode.Uri.parse(uri).toString())?.load())),
      vscode.window.registerWebviewPanelSerializer(MAP_TYPE, {
        deserializeWebviewPanel: async (panel, state: { uri?: string } | undefined) => {
          if (state?.uri) this.add(panel, vscode.Uri.parse(state.uri));
          else panel.dispose();
        },
      }),
    ];
  }

  get isVisible(): boolean {
    return [...this.maps.values()].some(({ isVisible }) => isVisible);
  }

  /** Shows the map of the set of a file, beside the text. */
  async show(uri: vscode.Uri): Promise<void> {
    const overview = await this.sets.overview(uri);
    const known = overview && this.maps.get(overview.uri);
    if (known) {
      known.reveal();
      return;
    }
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel(MAP_TYPE, "Memory Map", where);
    this.add(panel, vscode.Uri.parse(overview?.uri ?? uri.toString())).onDidDraw(() => this.opened.fire());
  }

  /** Shows in the map what the cursor is on. */
  async follow(uri: vscode.Uri, at: WhatIsAt): Promise<void> {
    const overview = await this.sets.overview(uri);
    if (overview) this.maps.get(overview.uri)?.follow(at);
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
    this.maps.forEach((map) => map.dispose());
  }

  private add(panel: vscode.WebviewPanel, uri: vscode.Uri): ShownMap {
    const key = uri.toString();
    this.maps.get(key)?.dispose();
    const map = new ShownMap(panel, uri, this.page, this.server, this.sets);
    this.maps.set(key, map);
    panel.onDidDispose(() => {
      if (this.maps.get(key) === map) this.maps.delete(key);
    });
    return map;
  }
}

/** The folder with the page's script and style, and the icon of its tab. */
interface Page {
  page: vscode.Uri;
  icon: { light: vscode.Uri; dark: vscode.Uri };
}

class ShownMap implements vscode.Disposable {
  private readonly drawn = new vscode.EventEmitter<void>();
  private isReady = false;
  private isLoading = false;
  private isOutdated = false;

  /** The page was given the map: for the first time, or of a set that has changed. */
  readonly onDidDraw = this.drawn.event;

  constructor(
    private readonly panel: vscode.WebviewPanel,
    private readonly uri: vscode.Uri,
    { page, icon }: Page,
    private readonly server: Server,
    private readonly sets: Sets,
  ) {
    panel.iconPath = icon;
    panel.webview.onDidReceiveMessage((message: FromMap) => void this.answer(message));
    panel.onDidChangeViewState(() => {
      if (panel.active) sets.view(uri);
    });
    panel.onDidDispose(() => {
      this.isReady = false;
    });
    panel.webview.options = { enableScripts: true, localResourceRoots: [page] };
    panel.webview.html = frame(panel.webview, page);
  }

  get isVisible(): boolean {
    return this.panel.visible;
  }

  reveal(): void {
    this.panel.reveal(undefined, true);
  }

  follow(at: WhatIsAt): void {
    this.tell({ type: "cursor", ...at });
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Draws the set as it is now; if it is being asked for already, once more after that. */
  async load(): Promise<void> {
    this.isOutdated = this.isLoading;
    if (!this.isReady || this.isLoading) return;
    this.isLoading = true;
    const uri = this.uri.toString();
    try {
      const map = await this.server.ask<MemoryMap>("memoryMap", { uri });
      if (!map) {
        this.tell({ type: "problem", message: "The server of XLA Lens is not there." });
        return;
      }
      this.panel.title = map.module ? `Memory Map: ${map.module}` : "Memory Map";
      this.tell({ type: "map", uri, map });
      this.drawn.fire();
    } catch (error) {
      this.tell({ type: "problem", message: error instanceof Error ? error.message : `${error}` });
    } finally {
      this.isLoading = false;
    }
    if (this.isOutdated) await this.load();
  }

  private async answer(message: FromMap): Promise<void> {
    switch (message.type) {
      case "ready":
        this.isReady = true;
        return this.load();
      case "describe": {
        const { target } = message;
        const description = await this.describe(this.uri, target);
        if (description) this.tell({ type: "described", target, markdown: description.markdown });
        return;
      }
      case "goTo":
        return this.goTo(message.target);
    }
  }

  private describe(uri: vscode.Uri, target: Target): Promise<Description | undefined> {
    return this.server.ask<Description>("describe", { uri: uri.toString(), ...target }).catch(() => undefined);
  }

  /** Goes there in another column than the map's, where the keyboard stays; in the file that is to be seen, if it tells of that. */
  private async goTo(target: Target): Promise<void> {
    const overview = await this.sets.overview(this.uri);
    const files = new Set(overview?.files.map(({ uri }) => vscode.Uri.parse(uri).toString()));
    const seen = vscode.window.visibleTextEditors.map(({ document }) => document.uri).find((uri) => files.has(uri.toString()));
    const place = await this.describe(seen ?? this.uri, target);
    if (!place) return;
    const columns = vscode.window.tabGroups.all.map(({ viewColumn }) => viewColumn);
    const other = columns.find((column) => column !== this.panel.viewColumn);
    await goTo(place.location, { viewColumn: other ?? vscode.ViewColumn.Beside, preserveFocus: true });
  }

  /** Tells the page something, if it is there: it may be closed while an answer is under way. */
  private tell(message: ToMap): void {
    if (this.isReady) void this.panel.webview.postMessage(message);
  }
}

function frame(webview: vscode.Webview, page: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const [script, style] = ["page.js", "page.css"].map((name) => webview.asWebviewUri(vscode.Uri.joinPath(page, name)));
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Memory Map</title>
</head>
<body>
<div id="app"></div>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
