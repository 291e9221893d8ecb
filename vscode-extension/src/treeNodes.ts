/** The nodes below a module of the tree: memory spaces with what is live at their peaks, advice, allocations and files. */

import * as vscode from "vscode";

import { counted, grouped, human, percent } from "../shared/numbers";
import type { AllocationEntry, Location, Overview, SetFile, SpaceOverview, ValueEntry } from "../shared/protocol";
import { withoutFolders } from "../shared/sources";
import { isOver, ofCapacity, peakText, reservedText, shareOfPeak } from "../shared/spaces";
import { SECTION } from "./server";

/** A node of the tree. Its children are created once, at first use: the editor reveals nodes by identity. */
export class Node {
  private created: Promise<Node[]> | undefined;

  constructor(
    readonly item: vscode.TreeItem,
    readonly parent: Node | undefined,
    private readonly createChildren?: (self: Node) => Promise<Node[]> | Node[],
    /** For a module: a file of its set. */
    readonly uri?: vscode.Uri,
  ) {
    item.collapsibleState = vscode.TreeItemCollapsibleState[createChildren ? "Collapsed" : "None"];
  }

  children(): Promise<Node[]> {
    this.created ??= Promise.resolve(this.createChildren?.(this) ?? []);
    return this.created;
  }
}

/** The children of a module. */
export function partsOf(overview: Overview, module: Node): Node[] {
  return [
    ...overview.spaces.map((space) => spaceNode(space, module)),
    adviceNode(overview, module),
    groupNode("Allocations", counted(overview.allocationCount, "allocation"), module, (self) => [
      ...overview.allocations.map((allocation) => allocationNode(allocation, self)),
      ...restNode(overview.allocationCount - overview.allocations.length, self),
    ]),
    groupNode("Files", `${overview.files.length}`, module, (self) =>
      overview.files.map((file) => fileNode(file, self)),
    ),
  ];
}

function spaceNode(space: SpaceOverview, parent: Node): Node {
  const item = new vscode.TreeItem(space.name);
  item.iconPath = new vscode.ThemeIcon("pulse");
  item.contextValue = "space";
  if (space.peakStep < 0) {
    item.description = `${reservedText(space)} reserved`;
    return new Node(item, parent);
  }
  if (isOver(space)) item.iconPath = new vscode.ThemeIcon("error", new vscode.ThemeColor("errorForeground"));
  item.description = `${ofCapacity(space, false) || peakText(space)} at step ${grouped(space.peakStep)}`;
  const isExact = space.peakBound === "exact" && space.reservedBound === "exact";
  const part = isExact ? percent(space.peakLiveBytes, space.reservedBytes) : peakText(space);
  const share = `${part} of the ${reservedText(space)} reserved`;
  item.tooltip = `Real peak of ${space.name}: ${share}${space.peakInstruction && `, while ${space.peakInstruction} runs`}`;
  if (space.peakLocation) item.command = goToCommand(space.peakLocation);
  return new Node(item, parent, (self) => [
    ...space.live.map((value) => valueNode(value, space, self)),
    ...restNode(space.liveCount - space.live.length, self),
  ]);
}

/** The page about what would lower the peak. The server computes it when it is opened. */
function adviceNode({ uri }: Overview, parent: Node): Node {
  const item = new vscode.TreeItem("What would lower the peak");
  item.iconPath = new vscode.ThemeIcon("lightbulb");
  item.contextValue = "advice";
  item.command = { command: `${SECTION}.showAdvice`, title: "Show What Would Lower the Peak", arguments: [{ uri }] };
  return new Node(item, parent);
}

function valueNode(value: ValueEntry, space: SpaceOverview, parent: Node): Node {
  const item = new vscode.TreeItem(value.label);
  const parts = [human(value.sizeBytes), shareOfPeak(value.sizeBytes, space), withoutFolders(value.source)];
  item.description = parts.filter(Boolean).join(" · ");
  item.tooltip = [`${value.label} · ${human(value.sizeBytes)}`, value.shape, value.opName, value.source]
    .filter(Boolean)
    .join("\n");
  item.iconPath = new vscode.ThemeIcon("symbol-variable");
  item.contextValue = `value ${value.value}`;
  if (value.location) item.command = goToCommand(value.location);
  return new Node(item, parent);
}

function allocationNode(allocation: AllocationEntry, parent: Node): Node {
  const item = new vscode.TreeItem(`allocation ${allocation.index}`);
  const fill = allocation.mostLiveBytes < 0 ? "" : ` · ${percent(allocation.mostLiveBytes, allocation.sizeBytes)} used`;
  item.description = `${human(allocation.sizeBytes)} · ${allocation.kind}${fill}`;
  item.tooltip =
    fill && `At most ${human(allocation.mostLiveBytes)} of ${human(allocation.sizeBytes)} are live at the same step.`;
  item.iconPath = new vscode.ThemeIcon("archive");
  item.contextValue = `allocation ${allocation.allocation}`;
  item.command = goToCommand(allocation.location);
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

function groupNode(label: string, description: string, parent: Node, createChildren: (self: Node) => Node[]): Node {
  const item = new vscode.TreeItem(label);
  item.description = description;
  item.contextValue = "group";
  return new Node(item, parent, createChildren);
}

function restNode(count: number, parent: Node): Node[] {
  return count > 0 ? [new Node(new vscode.TreeItem(`${counted(count, "smaller one")} not shown`), parent)] : [];
}

function goToCommand(location: Location): vscode.Command {
  return { command: `${SECTION}.goToLocation`, title: "Go to Location", arguments: [location] };
}
