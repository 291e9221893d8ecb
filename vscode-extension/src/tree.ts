/**
 * The tree "XLA Memory": the runs of programs, newest first, then the other modules of the workspace, those that need most first, each
 * with its memory spaces, what is live at their peaks, its allocations and its files.
 */

import { dirname, sep } from "node:path";
import * as vscode from "vscode";

import { capitalized, counted, joined } from "../shared/numbers";
import { distinctParts } from "../shared/paths";
import type { ModuleSummary, SpaceSummary, WhatIsAt } from "../shared/protocol";
import { type Change, changeSince, groupByRun, isOfRun, type Run, runName, timestamp } from "../shared/runs";
import { headlines, mainSpace } from "../shared/spaces";
import { progressOf, type Task } from "./activity";
import type { Follower } from "./cursor";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import { Node, OVER_COLOR, row, SetNodes } from "./treeNodes";

/** The delay between requests for the modules while the server still reads sets. */
const POLL_MS = 1000;

/** How often the modules are requested until they contain new files. The server checks the disk every five seconds. */
const REVEAL_TRIES = 12;

export class Tree implements Follower, vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly view: vscode.TreeView<Node>;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private roots: Promise<Node[]> | undefined;
  private modules: readonly ModuleSummary[] = [];
  private runs: readonly Run[] = [];
  private isTruncated = false;
  private isReading = true;
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
      server.onDidChangeActivity(() => this.showState()),
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
    this.roots ??= this.rootNodes();
    return this.roots;
  }

  /**
   * Reveals the worst module of a run, and waits until the server has read the new files there. Returns how it differs from the
   * previous run, and false if it lists no module of the run, as outside of the workspace.
   */
  async reveal(folder: string): Promise<false | Change | undefined> {
    for (let tries = 0; tries < REVEAL_TRIES; tries++) {
      if (tries) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      this.refresh();
      const nodes = await this.moduleNodes();
      const found = nodes.find(({ parts: { uri } }) => uri?.fsPath.startsWith(folder + sep));
      if (!found?.parts.uri || this.isReading) continue;
      await this.view.reveal(found, { select: true, focus: false, expand: true });
      this.sets.view(found.parts.uri);
      const run = this.runs.find(({ modules }) => modules.some(({ uri }) => uri === found.item.id));
      return run && changeSince(this.runs, run);
    }
    return false;
  }

  /** How the worst module of a run differs from that of the previous run, undefined for other modules. */
  changeOf(uri: string): Change | undefined {
    const run = this.runs.find(({ modules: [worst] }) => worst?.uri === uri);
    return run && changeSince(this.runs, run);
  }

  /** The same, also before the tree is shown for the first time: waits until the server has read the modules of the runs. */
  async findChange(uri: string): Promise<Change | undefined> {
    if (!isOfRun(vscode.workspace.asRelativePath(vscode.Uri.parse(uri)))) return undefined;
    for (let tries = 0; tries < REVEAL_TRIES; tries++) {
      await this.getChildren();
      const found = this.changeOf(uri);
      if (found || !this.isReading) return found;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return undefined;
  }

  dispose(): void {
    clearTimeout(this.poll);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  /** The nodes of all modules, whether of a run or not. */
  private async moduleNodes(): Promise<Node[]> {
    const roots = await this.getChildren();
    const nodes = roots.map((node) => (node.item.contextValue === "run" ? node.children() : [node]));
    return (await Promise.all(nodes)).flat();
  }

  private async rootNodes(): Promise<Node[]> {
    this.showState();
    const answer = await this.server.execute("xla-lens.modules", {}).catch(() => undefined);
    clearTimeout(this.poll);
    if (answer) {
      const { is_reading: isReading, is_truncated: isTruncated, modules } = answer;
      if (isReading) this.poll = setTimeout(() => this.refresh(), POLL_MS);
      // A module that is being read again keeps its row.
      const isListed = new Set(modules.map(({ uri }) => uri));
      const kept = isReading ? this.modules.filter(({ uri }) => !isListed.has(uri)) : [];
      this.modules = [...modules, ...kept];
      [this.isReading, this.isTruncated] = [isReading, isTruncated];
    }
    this.showState();
    const { runs, rest } = groupByRun(this.modules, ({ uri }) =>
      vscode.workspace.asRelativePath(vscode.Uri.parse(uri)),
    );
    this.runs = runs;
    const nodes = [...runs.map((run) => this.run(run, run === runs[0])), ...this.nodesOf(rest)];
    if (!this.isReading) this.expandOnly(nodes);
    return nodes;
  }

  /**
   * Says what the tree cannot show: that the server reads or does not run. Where there are no rows, the editor shows the
   * welcome text for the state instead, unless there is a message.
   */
  private showState(): void {
    const { current, problem } = this.server.activity;
    const state = problem?.kind ?? (this.isReading ? "reading" : "read");
    void vscode.commands.executeCommand("setContext", `${SECTION}.tree`, state);
    const count = counted(this.modules.length, "dump set");
    if (problem) this.view.message = this.modules.length ? `${problem.text} The rows may be out of date.` : "";
    else if (this.isReading) this.view.message = current ? taskText(current) : "Reading dump sets…";
    else this.view.message = this.isTruncated ? `Shows the first ${count} of the workspace.` : "";
  }

  /** Expands the only module of a workspace, once: the user may collapse it again. */
  private expandOnly([only, ...others]: readonly Node[]): void {
    if (this.hasExpanded || !only || others.length) return;
    this.hasExpanded = true;
    // The view has to receive the node first.
    setTimeout(() => void this.view.reveal(only, { select: false, expand: true }), 0);
  }

  private run(run: Run, isExpanded: boolean): Node {
    const main = mainSpace(run.modules[0]?.spaces ?? []);
    const icon: [string, string?] = main?.is_over ? moduleIcon("", main) : ["history"];
    const item = row("", runName(run, timestamp(new Date()).slice(0, 8)), main ? main.needed : "", ...icon);
    item.id = run.folder;
    item.tooltip = `${counted(run.modules.length, "module")} in ${run.folder}`;
    return new Node("run", item, undefined, { isExpanded }, (self) => this.nodesOf(run.modules, self));
  }

  private nodesOf(modules: readonly ModuleSummary[], parent?: Node): Node[] {
    const folders = foldersOfTwins(modules);
    return modules.map((module) => this.module(module, folders.get(module) ?? "", parent));
  }

  /** The node of a module. `folder` tells it apart from the others of the same name. */
  private module(module: ModuleSummary, folder: string, parent?: Node): Node {
    const [uri, main] = [vscode.Uri.parse(module.uri), mainSpace(module.spaces)];
    const name = module.module || "module";
    const sign = module.spaces.length ? module.gap : "empty";
    const limit = main?.limit;
    // A narrow view shows only the first fact.
    const isFirst = main?.is_over;
    const facts = joined(isFirst && limit, folder, sign, !isFirst && (limit || main?.name));
    const item = row(main ? main.needed : "", name, facts, ...moduleIcon(sign, main));
    item.id = module.uri;
    item.tooltip = moduleTooltip(module);
    return new Node("module", item, parent, { uri, name }, async (self) => {
      const overview = await this.sets.overview(uri);
      return overview ? new SetNodes(this.server, overview).below(self) : [];
    });
  }

  /** Reveals the node of the value or allocation at the cursor, if the tree has one. */
  async follow(uri: vscode.Uri, at: WhatIsAt): Promise<void> {
    const found = await this.find(uri, at);
    if (found && this.view.visible) await this.view.reveal(found, { select: true, focus: false });
  }

  /**
   * The node of the value at the cursor, or of the allocation whose row it is on, in the lists that the reader has opened. Prefers
   * the one that is selected, since a click on it moved the cursor, and then one in the same list.
   */
  private async find(uri: vscode.Uri, at: WhatIsAt): Promise<Node | undefined> {
    const overview = await this.sets.overview(uri);
    const module = (await this.moduleNodes()).find(({ item }) => item.id === overview?.uri);
    if (!module) return undefined;
    const near: Node[] = [];
    for (let node = this.view.selection[0]; node; node = node.parent) near.push(node);
    const places = near.at(-1) === module ? near : [module];
    const key = at.value !== null ? `value ${at.value}` : `allocation ${at.allocation}`;
    for (const place of places) {
      const found = await place.find(key);
      if (found) return found;
    }
    return undefined;
  }
}

function taskText(task: Task): string {
  const { title = "XLA Lens", message, percentage } = task;
  const progress = progressOf(task);
  // Both count what is read, but most sets are small.
  return `${title}: ${message && percentage !== undefined ? `${message}, ${progress} of the bytes` : progress}`;
}

function moduleIcon(sign: string, main: SpaceSummary | undefined): [icon: string, color?: string] {
  if (main?.is_over) return ["error", OVER_COLOR];
  return sign ? ["warning", "list.warningForeground"] : ["file-binary"];
}

/** The sizes of a module, and where it is. A longer tooltip would cover the rows below. */
function moduleTooltip({ spaces, files, incomplete, gap }: ModuleSummary): string {
  const gaps = incomplete ? ["", `${capitalized(gap)}: ${incomplete}`] : [];
  const folders = new Set(files.map(({ uri }) => dirname(vscode.Uri.parse(uri).fsPath)));
  return [...headlines(spaces), ...gaps, "", ...folders].join("\n");
}

/** Return what tells modules of the same name apart: of their paths, what is not at the start or at the end of all. */
function foldersOfTwins(modules: readonly ModuleSummary[]): Map<ModuleSummary, string> {
  const found = new Map<ModuleSummary, string>();
  for (const name of new Set(modules.map(({ module }) => module))) {
    const twins = modules.filter(({ module }) => module === name);
    const parts = distinctParts(twins.map(({ uri }) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri), true)));
    for (const [index, one] of twins.entries()) found.set(one, parts[index]!);
  }
  return found;
}
