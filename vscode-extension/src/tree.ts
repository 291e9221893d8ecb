/** The tree "XLA Memory": modules, the worst first; their memory spaces, what is live at the peak, allocations and files. */

import * as vscode from "vscode";
import type { Location } from "vscode-languageserver-types";

import type { Follower } from "./cursor";
import { counted, human, percent } from "../map/numbers";
import { withoutFolders } from "../map/sources";
import type { AllocationEntry, Modules, ModuleSummary, Overview, SetFile, SpaceOverview, ValueEntry, WhatIsAt } from "./protocol";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import { worstSpace } from "./statusBar";

/** A line of the tree. What it has below is made once, when it is first opened, so that a line can be revealed. */
export class Node {
  private made: Promise<Node[]> | undefined;

  constructor(
    readonly item: vscode.TreeItem,
    readonly parent: Node | undefined,
    private readonly make?: (self: Node) => Promise<Node[]> | Node[],
    /** A file of the set, of a module. */
    readonly uri?: vscode.Uri,
  ) {
    item.collapsibleState = vscode.TreeItemCollapsibleState[make ? "Collapsed" : "None"];
  }

  children(): Promise<Node[]> {
    this.made ??= Promise.resolve(this.make?.(this) ?? []);
    return this.made;
  }
}

const POLL_MS = 1000;

export class Tree implements Follower, vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly view: vscode.TreeView<Node>;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[] = [];
  private roots: Promise<Node[]> | undefined;
  private hasOpened = false;
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

  /** Makes the tree anew. */
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
    this.subscriptions.forEach((one) => one.dispose());
  }

  private async modules(): Promise<Node[]> {
    const told = await this.server.ask<Modules>("modules", {}).catch(() => undefined);
    if (!told) return [];
    clearTimeout(this.poll);
    if (told.isReading) this.poll = setTimeout(() => this.refresh(), POLL_MS);
    this.view.message = told.isCut ? `The first ${counted(told.modules.length, "dump set")} of the workspace.` : "";
    const sets = new Map<string, number>();
    for (const { module } of told.modules) sets.set(module, (sets.get(module) ?? 0) + 1);
    const modules = told.modules.map((module) => this.module(module, sets.get(module.module) !== 1));
    if (!told.isReading) this.openOnly(modules);
    return modules;
  }

  /** Opens the module of a workspace that has one only, once: it may be closed again. */
  private openOnly([only, ...others]: readonly Node[]): void {
    if (this.hasOpened || !only || others.length) return;
    this.hasOpened = true;
    // The view must have it first.
    setTimeout(() => void this.view.reveal(only, { select: false, expand: true }), 0);
  }

  /** One module; where others have its name, too, with its file. */
  private module(module: ModuleSummary, isAmbiguous: boolean): Node {
    const item = new vscode.TreeItem(module.module || "module");
    const [uri, worst] = [vscode.Uri.parse(module.uri), worstSpace(module)];
    item.id = module.uri;
    const size = worst && (worst.peakStep < 0 ? `${human(worst.reservedBytes)} reserved` : human(worst.peakLiveBytes));
    item.description = [size, isAmbiguous && vscode.workspace.asRelativePath(uri)].filter(Boolean).join(" · ");
    item.tooltip = moduleTooltip(module);
    item.iconPath = new vscode.ThemeIcon("file-binary");
    item.contextValue = "module";
    const make = async (self: Node) => {
      const overview = await this.sets.overview(uri);
      return overview ? parts(overview, self) : [];
    };
    return new Node(item, undefined, make, uri);
  }

  /** Reveals what the cursor is on, as far as it is among what the tree has. */
  async follow(uri: vscode.Uri, at: WhatIsAt): Promise<void> {
    const found = await this.find(uri, at);
    if (found && this.view.visible) await this.view.reveal(found, { select: true, focus: false });
  }

  /** The line of the value that is told, or else of the allocation. */
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

function moduleTooltip({ spaces, files }: ModuleSummary): string {
  const sizes = spaces.map(({ name, color, peakStep, peakLiveBytes, reservedBytes }) => {
    const peak = peakStep < 0 ? "" : `${human(peakLiveBytes)} peak of `;
    return `${name || `memory space ${color}`}: ${peak}${human(reservedBytes)} reserved`;
  });
  return [...sizes, "", ...files.map(({ uri }) => vscode.Uri.parse(uri).fsPath)].join("\n");
}

function parts(overview: Overview, module: Node): Node[] {
  return [
    ...overview.spaces.map((space) => spaceNode(space, module)),
    groupNode("Allocations", counted(overview.allocationCount, "allocation"), module, (self) => [
      ...overview.allocations.map((allocation) => allocationNode(allocation, self)),
      ...restNode(overview.allocationCount - overview.allocations.length, self),
    ]),
    groupNode("Files", `${overview.files.length}`, module, (self) => overview.files.map((file) => fileNode(file, self))),
  ];
}

function spaceNode(space: SpaceOverview, parent: Node): Node {
  const item = new vscode.TreeItem(`Memory space ${space.color}${space.name && ` ${space.name}`}`);
  item.iconPath = new vscode.ThemeIcon("pulse");
  item.contextValue = "space";
  if (space.peakStep < 0) {
    item.description = `${human(space.reservedBytes)} reserved`;
    return new Node(item, parent);
  }
  item.description = `${human(space.peakLiveBytes)} at step ${space.peakStep.toLocaleString("en-US")}`;
  item.tooltip = `The true peak: ${percent(space.peakLiveBytes, space.reservedBytes)} of the ${human(space.reservedBytes)} that are reserved${space.peakInstruction && `, in ${space.peakInstruction}`}`;
  if (space.peakLocation) item.command = goingTo(space.peakLocation);
  return new Node(item, parent, (self) => [
    ...space.live.map((value) => valueNode(value, space, self)),
    ...restNode(space.liveCount - space.live.length, self),
  ]);
}

function valueNode(value: ValueEntry, space: SpaceOverview, parent: Node): Node {
  const item = new vscode.TreeItem(value.label);
  item.description = `${human(value.sizeBytes)} · ${percent(value.sizeBytes, space.peakLiveBytes)}${value.source && ` · ${withoutFolders(value.source)}`}`;
  item.tooltip = [`${value.label} · ${human(value.sizeBytes)}`, value.shape, value.opName, value.source].filter(Boolean).join("\n");
  item.iconPath = new vscode.ThemeIcon("symbol-variable");
  item.contextValue = `value ${value.value}`;
  item.command = goingTo(value.location);
  return new Node(item, parent);
}

function allocationNode(allocation: AllocationEntry, parent: Node): Node {
  const item = new vscode.TreeItem(`allocation ${allocation.index}`);
  const fill = allocation.mostLiveBytes < 0 ? "" : ` · ${percent(allocation.mostLiveBytes, allocation.sizeBytes)} filled`;
  item.description = `${human(allocation.sizeBytes)} · ${allocation.kind}${fill}`;
  item.tooltip = fill && `At most ${human(allocation.mostLiveBytes)} of its ${human(allocation.sizeBytes)} are live at once.`;
  item.iconPath = new vscode.ThemeIcon("archive");
  item.contextValue = `allocation ${allocation.allocation}`;
  item.command = goingTo(allocation.location);
  return new Node(item, parent);
}

function fileNode(file: SetFile, parent: Node): Node {
  const uri = vscode.Uri.parse(file.uri);
  const item = new vscode.TreeItem(uri);
  item.description = `${human(file.sizeBytes)} · ${file.kind}`;
  item.contextValue = "file";
  item.command = { command: "vscode.open", title: "Open", arguments: [uri] };
  return new Node(item, parent);
}

function groupNode(label: string, description: string, parent: Node, make: (self: Node) => Node[]): Node {
  const item = new vscode.TreeItem(label);
  item.description = description;
  item.contextValue = "group";
  return new Node(item, parent, make);
}

function restNode(count: number, parent: Node): Node[] {
  return count > 0 ? [new Node(new vscode.TreeItem(`and ${counted(count, "smaller one")}`), parent)] : [];
}

function goingTo(location: Location): vscode.Command {
  return { command: `${SECTION}.goToLocation`, title: "Go to", arguments: [location] };
}
