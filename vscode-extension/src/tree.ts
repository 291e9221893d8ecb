/**
 * The tree "XLA Memory": the modules of the workspace, largest peak first, each with its memory spaces, what is live at
 * their peaks, its allocations and its files.
 */

import * as vscode from "vscode";

import { counted } from "../shared/numbers";
import type { ModuleSummary, WhatIsAt } from "../shared/protocol";
import { peakText, reservedText, worstSpace } from "../shared/spaces";
import type { Follower } from "./cursor";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import { Node, partsOf } from "./treeNodes";

/** The delay between requests for the modules while the server still reads sets. */
const POLL_MS = 1000;

export class Tree implements Follower, vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly view: vscode.TreeView<Node>;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private roots: Promise<Node[]> | undefined;
  private hasExpanded = false;
  private poll: NodeJS.Timeout | undefined;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly sets: Sets,
  ) {
    this.view = vscode.window.createTreeView(`${SECTION}.memory`, { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions.push(
      this.view,
      this.changed,
      sets.onDidChange(() => this.refresh()),
    );
  }

  /** Rebuilds the tree. */
  refresh(): void {
    clearTimeout(this.poll);
    this.roots = undefined;
    this.changed.fire();
  }

  get isVisible(): boolean {
    return this.view.visible;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.item;
  }

  getParent(node: Node): Node | undefined {
    return node.parent;
  }

  getChildren(node?: Node): Promise<Node[]> {
    if (node) return node.children();
    this.roots ??= this.modules();
    return this.roots;
  }

  dispose(): void {
    clearTimeout(this.poll);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async modules(): Promise<Node[]> {
    const answer = await this.server.execute("xla-lens.modules", {}).catch(() => undefined);
    if (!answer) return [];
    const { isReading, isTruncated, modules } = answer;
    clearTimeout(this.poll);
    if (isReading) this.poll = setTimeout(() => this.refresh(), POLL_MS);
    this.view.message = isTruncated ? `Shows the first ${counted(modules.length, "dump set")} of the workspace.` : "";
    const counts = new Map<string, number>();
    for (const { module } of modules) counts.set(module, (counts.get(module) ?? 0) + 1);
    const nodes = modules.map((module) => this.module(module, counts.get(module.module) !== 1));
    if (!isReading) this.expandOnly(nodes);
    return nodes;
  }

  /** Expands the only module of a workspace, once: the user may collapse it again. */
  private expandOnly([only, ...others]: readonly Node[]): void {
    if (this.hasExpanded || !only || others.length) return;
    this.hasExpanded = true;
    // The view has to receive the node first.
    setTimeout(() => void this.view.reveal(only, { select: false, expand: true }), 0);
  }

  /** The node of a module, with its file if several modules have the same name. */
  private module(module: ModuleSummary, isAmbiguous: boolean): Node {
    const item = new vscode.TreeItem(module.module || "module");
    const [uri, worst] = [vscode.Uri.parse(module.uri), worstSpace(module.spaces)];
    item.id = module.uri;
    const size = worst && (worst.peakStep < 0 ? `${reservedText(worst)} reserved` : peakText(worst));
    item.description = [
      size,
      module.incomplete && "incomplete dump",
      isAmbiguous && vscode.workspace.asRelativePath(uri),
    ]
      .filter(Boolean)
      .join(" · ");
    item.tooltip = moduleTooltip(module);
    item.iconPath = new vscode.ThemeIcon("file-binary");
    item.contextValue = "module";
    const createChildren = async (self: Node) => {
      const overview = await this.sets.overview(uri);
      return overview ? partsOf(overview, self) : [];
    };
    return new Node(item, undefined, createChildren, uri);
  }

  /** Reveals the node of the value or allocation at the cursor, if the tree has one. */
  async follow(uri: vscode.Uri, at: WhatIsAt): Promise<void> {
    const found = await this.find(uri, at);
    if (found && this.view.visible) await this.view.reveal(found, { select: true, focus: false });
  }

  /** The node of the value at the cursor, or else of the allocation there. */
  private async find(uri: vscode.Uri, at: WhatIsAt): Promise<Node | undefined> {
    const overview = await this.sets.overview(uri);
    const roots = await this.getChildren();
    const module = roots.find(({ item }) => item.id === overview?.uri);
    if (!module) return undefined;
    for (const wanted of [at.value >= 0 && `value ${at.value}`, at.allocation >= 0 && `allocation ${at.allocation}`]) {
      for (const part of wanted ? await module.children() : []) {
        const found = (await part.children()).find(({ item }) => item.contextValue === wanted);
        if (found) return found;
      }
    }
    return undefined;
  }
}

function moduleTooltip({ spaces, files, incomplete }: ModuleSummary): string {
  const sizes = spaces.map((space) => {
    const peak = space.peakStep < 0 ? "" : `${peakText(space)} peak of `;
    return `${space.name}: ${peak}${reservedText(space)} reserved`;
  });
  const gaps = incomplete ? ["", `Incomplete: ${incomplete}`] : [];
  return [...sizes, ...gaps, "", ...files.map(({ uri }) => vscode.Uri.parse(uri).fsPath)].join("\n");
}
