/** The dump set that the user looks at, and what the server says of sets, until it changes. */

import * as vscode from "vscode";

import { dumpOf, PAGE_SCHEME } from "./documents";
import type { Overview } from "./protocol";
import { SECTION, type Server } from "./server";

/** The type of the views that show a memory map. */
export const MAP_TYPE = `${SECTION}.memoryMap`;

/** Entries of each list of an overview. */
const TOP = 100;

export class Sets implements vscode.Disposable {
  private readonly known = new Map<string, Promise<Overview | undefined>>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly viewed = new vscode.EventEmitter<vscode.Uri | undefined>();
  private readonly subscriptions: vscode.Disposable[];
  private shown: vscode.Uri | undefined;

  /** What is known of some set is not so any more. */
  readonly onDidChange = this.changed.event;
  /** Another set is in view, or none. */
  readonly onDidView = this.viewed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.window.tabGroups.onDidChangeTabs(() => this.look()),
      vscode.window.tabGroups.onDidChangeTabGroups(() => this.look()),
      // A document may become a dump after its tab is there.
      vscode.workspace.onDidOpenTextDocument(() => this.look()),
      server.onDidLoad(({ uris }) => this.forget(uris)),
      server.onDidStart(() => this.forget([...this.known.keys()])),
    ];
    this.look();
  }

  /** A file or a page of the set in view: that of the active tab, else the last one that was, as long as it is open. */
  get inView(): vscode.Uri | undefined {
    return this.shown;
  }

  /** Where the memory of the set of a file goes; undefined if that is no dump, or there is no server. */
  overview(uri: vscode.Uri): Promise<Overview | undefined> {
    const key = uri.toString();
    let found = this.known.get(key);
    if (!found) {
      found = this.server.ask<Overview>("overview", { uri: key, top: TOP }).catch(() => undefined);
      this.known.set(key, found);
    }
    return found;
  }

  /** Lets a set be in view whose file has no tab, such as one of which only the map is shown. */
  view(uri: vscode.Uri): void {
    if (this.shown?.toString() === uri.toString()) return;
    this.shown = uri;
    this.viewed.fire(uri);
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
    this.changed.dispose();
    this.viewed.dispose();
  }

  private look(): void {
    const groups = vscode.window.tabGroups;
    const active = dumpOf(groups.activeTabGroup.activeTab);
    if (active) {
      this.view(active);
    } else if (this.shown && !groups.all.some((group) => group.tabs.some((tab) => this.isShownIn(tab)))) {
      this.shown = undefined;
      this.viewed.fire(undefined);
    }
  }

  private isShownIn(tab: vscode.Tab): boolean {
    const { input } = tab;
    // A map keeps its set in view when the text is closed.
    if (input instanceof vscode.TabInputWebview) return input.viewType.endsWith(MAP_TYPE);
    return dumpOf(tab)?.toString() === this.shown?.toString();
  }

  private forget(uris: readonly string[]): void {
    const gone = new Set(uris.map((uri) => vscode.Uri.parse(uri).toString()));
    for (const key of [...this.known.keys()]) {
      // Which files a page tells of its address does not say.
      if (gone.has(key) || key.startsWith(`${PAGE_SCHEME}:`)) this.known.delete(key);
    }
    this.changed.fire();
  }
}
