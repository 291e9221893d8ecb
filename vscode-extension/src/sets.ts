/** The dump set in view, and a cache of overviews. */

import * as vscode from "vscode";

import type { Overview } from "../shared/protocol";
import { dumpInTab, PAGE_SCHEME } from "./documents";
import { SECTION, type Server } from "./server";

/** The view type of the memory map. */
export const MAP_TYPE = `${SECTION}.memoryMap`;

export class Sets implements vscode.Disposable {
  private readonly overviews = new Map<string, Promise<Overview | undefined>>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly viewed = new vscode.EventEmitter<vscode.Uri | undefined>();
  private readonly subscriptions: vscode.Disposable[];

  /**
   * A file or a page of the set in view: that of the active tab if it shows a dump, else the last dump that was active and
   * is still open.
   */
  inView: vscode.Uri | undefined;
  /** Fires when cached overviews became stale. */
  readonly onDidChange = this.changed.event;
  /** Fires when another set comes into view, or no set is in view any longer. */
  readonly onDidView = this.viewed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.window.tabGroups.onDidChangeTabs(() => this.update()),
      vscode.window.tabGroups.onDidChangeTabGroups(() => this.update()),
      // A document may get its language after its tab was opened.
      vscode.workspace.onDidOpenTextDocument(() => this.update()),
      server.onDidLoad(({ uris }) => this.invalidate(uris)),
      server.onDidRestart(() => this.invalidate([...this.overviews.keys()])),
    ];
    this.update();
  }

  /** Return the overview of the set of a file. Undefined if the file is no dump, or there is no server. */
  overview(uri: vscode.Uri): Promise<Overview | undefined> {
    const key = uri.toString();
    const known = this.overviews.get(key);
    if (known !== undefined) return known;
    const overview = this.server.execute("xla-lens.overview", { uri: key }).catch(() => undefined);
    this.overviews.set(key, overview);
    return overview;
  }

  /** Brings a set into view, even if none of its files has a tab. */
  view(uri: vscode.Uri): void {
    if (this.inView?.toString() === uri.toString()) return;
    this.inView = uri;
    this.viewed.fire(uri);
  }

  dispose(): void {
    for (const one of [...this.subscriptions, this.changed, this.viewed]) one.dispose();
  }

  private update(): void {
    const groups = vscode.window.tabGroups;
    const active = dumpInTab(groups.activeTabGroup.activeTab);
    if (active) {
      this.view(active);
    } else if (this.inView && !groups.all.some((group) => group.tabs.some((tab) => this.showsCurrent(tab)))) {
      this.inView = undefined;
      this.viewed.fire(undefined);
    }
  }

  private showsCurrent(tab: vscode.Tab): boolean {
    // A map keeps its set in view when the text is closed.
    if (tab.input instanceof vscode.TabInputWebview) return tab.input.viewType.endsWith(MAP_TYPE);
    return dumpInTab(tab)?.toString() === this.inView?.toString();
  }

  private invalidate(uris: readonly string[]): void {
    const stale = new Set(uris.map((uri) => vscode.Uri.parse(uri).toString()));
    for (const key of [...this.overviews.keys()]) {
      // The URI of a page does not name the files of its set.
      if (stale.has(key) || key.startsWith(`${PAGE_SCHEME}:`)) this.overviews.delete(key);
    }
    this.changed.fire();
  }
}
