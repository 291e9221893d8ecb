/**
 * The nodes of the tree. A memory space has what is live at its peak by source line, by the path of the parameter and by
 * size. Only values, allocations, files and the advice lead somewhere on a click; a click on any other node expands it.
 */

import { basename } from "node:path";
import * as vscode from "vscode";

import { counted, grouped, human, joined, percent } from "../shared/numbers";
import type {
  AllocationEntry,
  Location,
  Overview,
  SetFile,
  SourceLine,
  SpaceOverview,
  ValueEntry,
  ValueGroup,
} from "../shared/protocol";
import { shortSource, withoutFolders } from "../shared/sources";
import { bounded, shareOfPeak, splitSmall } from "../shared/spaces";
import { SECTION, type Server } from "./server";

/** What the commands of a node's menu need. */
interface NodeParts {
  /** A file: that of the node, or one of the set of a module. */
  uri?: vscode.Uri;
  location?: Location | null;
  sourceLine?: SourceLine | null;
  /** The name that can be copied. */
  name?: string;
  /** What the node shows: `value 12`, `allocation 3`. */
  key?: string;
  isExpanded?: boolean;
}

/** A node of the tree, whose kind decides on its menu. Its children are created once: the editor reveals nodes by identity. */
export class Node {
  private created: Promise<Node[]> | undefined;

  constructor(
    kind: string,
    readonly item: vscode.TreeItem,
    readonly parent: Node | undefined,
    readonly parts: NodeParts = {},
    private readonly createChildren?: (self: Node) => Promise<Node[]> | Node[],
  ) {
    item.contextValue = kind;
    const state = createChildren ? (parts.isExpanded ? "Expanded" : "Collapsed") : "None";
    item.collapsibleState = vscode.TreeItemCollapsibleState[state];
  }

  children(): Promise<Node[]> {
    this.created ??= this.create();
    return this.created;
  }

  /** The node that shows a thing: this one, or the first one below it, among those that the reader has opened. */
  async find(key: string): Promise<Node | undefined> {
    if (this.parts.key === key) return this;
    for (const child of (await this.created) ?? []) {
      const found = await child.find(key);
      if (found) return found;
    }
    return undefined;
  }

  private async create(): Promise<Node[]> {
    try {
      return (await this.createChildren?.(this)) ?? [];
    } catch (error) {
      return [new Node("", row("", `${error instanceof Error ? error.message : error}`, "", "error"), this)];
    }
  }
}

/** A row: its number first, then its name. */
export function row(size: string, name: string, description: string, icon: string, color?: string): vscode.TreeItem {
  const item = new vscode.TreeItem(size ? `${size}  ${name}` : name);
  item.description = description;
  if (icon) item.iconPath = new vscode.ThemeIcon(icon, color ? new vscode.ThemeColor(color) : undefined);
  return item;
}

/** The color of the icon of what does not fit into the device. */
export const OVER_COLOR = "errorForeground";

/** Source lines have none: in a view of the default width, it would push the number of the line out of sight. */
const GROUP_ICONS = { line: "", like: "layers", path: "symbol-namespace" };

/** How many values a list shows at first. */
const FIRST = 100;

/** The nodes of one dump set. */
export class SetNodes {
  constructor(
    private readonly server: Server,
    private readonly overview: Overview,
  ) {}

  /** The children of its module. */
  below(module: Node): Node[] {
    const { spaces, allocations, allocation_count: allocationCount, files } = this.overview;
    // A TPU has up to nine memory spaces of a few bytes.
    const [shown, folded] = splitSmall(spaces);
    const small = counted(folded.length, "small memory space");
    const below = (self: Node) => folded.map((space) => this.space(space, self));
    return [
      ...shown.map((space) => this.space(space, module)),
      ...(folded.length ? [group(small, "", "pulse", module, below)] : []),
      this.advice(module),
      group("Allocations", grouped(allocationCount), "archive", module, (self) => [
        ...allocations.map((allocation) => allocationNode(allocation, self)),
        ...this.moreAllocations(allocations.length, self),
      ]),
      group("Files", grouped(files.length), "files", module, (self) => files.map((file) => fileNode(file, self))),
    ];
  }

  private space(space: SpaceOverview, parent: Node): Node {
    const [icon, color] = space.is_over ? ["error", OVER_COLOR] : ["pulse"];
    const peak = space.peak_step === null ? "" : `peak ${space.peak} at step ${grouped(space.peak_step)}`;
    const item = row(space.needed, space.name, joined(space.limit.replace(` ${space.name}`, ""), peak), icon, color);
    if (space.peak_step === null) return new Node("space", item, parent, { name: space.name });
    item.tooltip = spaceTooltip(space);
    const parts = { name: space.name, location: space.peak_location };
    return new Node("space", item, parent, parts, (self) => this.peak(space, self));
  }

  /** What is live at the peak of a space, in three orders. */
  private async peak(space: SpaceOverview, parent: Node): Promise<Node[]> {
    const { uri } = this.overview;
    const found = await this.server.execute("xla-lens.peak", { uri, color: space.color });
    if (!found) return [];
    const { lines, parameters, values } = found;
    const lineCount = lines.filter(({ source_line: sourceLine }) => sourceLine).length;
    const parameterCount = parameters.reduce((sum, { count }) => sum + count, 0);
    const branch = (label: string, count: string, icon: string, of: ValueGroup[], isExpanded?: boolean) =>
      of.length ? [group(label, count, icon, parent, (self) => this.groups(of, space, self), isExpanded)] : [];
    const byValue = (self: Node) => this.values(values, space, self);
    return [
      ...branch("By source line", counted(lineCount, "line"), "code", lines, true),
      ...branch("By parameter path", counted(parameterCount, "value"), "list-tree", parameters),
      group("By value", counted(values.length, "value"), "list-ordered", parent, byValue),
    ];
  }

  /** Groups, then the values of a group that are in none of them. A group of one value is that value. */
  private async groups(groups: ValueGroup[], space: SpaceOverview, parent: Node, above?: ValueGroup): Promise<Node[]> {
    const entries = await this.entries(groups.flatMap((one) => (isSingle(one) ? one.values : [])));
    const byValue = new Map(entries.map((entry) => [entry.value, entry]));
    const nodes = groups.map((one) => {
      const entry = isSingle(one) ? byValue.get(one.values[0] ?? -1) : undefined;
      return entry ? valueNode(entry, space, parent, one) : this.group(one, space, parent);
    });
    return above ? [...nodes, ...(await this.values(above.values, space, parent, above))] : nodes;
  }

  private group(one: ValueGroup, space: SpaceOverview, parent: Node): Node {
    const { kind, label, detail, source_line: sourceLine } = one;
    const count = `${one.bound === "at_least" ? "≥ " : ""}${counted(one.count, "value")}`;
    const share = one.bound === "exact" ? shareOfPeak(one.size_bytes, space) : "";
    const name = sourceLine ? shortSource(label, LONGEST_SOURCE) : kind === "path" ? endOf(label) : label;
    const like = [`${grouped(one.count)} × ${label}`, detail];
    const [title, ...facts] = kind === "like" ? like : [name, sourceLine || kind === "path" ? detail : "", count];
    const item = row(bounded(one.size_bytes, one.bound), title!, joined(share, ...facts), GROUP_ICONS[kind]);
    const whole = sourceLine && detail ? [`${label} in ${detail}`] : [label, detail];
    item.tooltip = [...whole, count].filter(Boolean).join("\n");
    const below = (self: Node) => this.groups(one.groups, space, self, one);
    return new Node(sourceLine ? "line source" : kind, item, parent, { name: label, sourceLine }, below);
  }

  /** The first values of a list, and a node that opens the rest. */
  private async values(
    values: number[],
    space: SpaceOverview,
    parent: Node,
    group?: ValueGroup,
    count = FIRST,
  ): Promise<Node[]> {
    const entries = await this.entries(values.slice(0, count));
    const nodes = entries.map((entry) => valueNode(entry, space, parent, group));
    const others = values.slice(count);
    const more = (self: Node) => this.values(others, space, self, group, 10 * count);
    return others.length ? [...nodes, rest(others.length, parent, more)] : nodes;
  }

  private async entries(values: number[]): Promise<ValueEntry[]> {
    if (!values.length) return [];
    return (await this.server.execute("xla-lens.values", { uri: this.overview.uri, values })) ?? [];
  }

  private moreAllocations(first: number, parent: Node): Node[] {
    const { allocation_count: top, uri } = this.overview;
    const more = async (self: Node) => {
      const all = await this.server.execute("xla-lens.overview", { uri, top });
      return (all?.allocations ?? []).slice(first).map((allocation) => allocationNode(allocation, self));
    };
    return first < top ? [rest(top - first, parent, more)] : [];
  }

  /** The page about where the memory goes and what would lower it. The server computes it when it is opened. */
  private advice(parent: Node): Node {
    const item = row("", "What would lower the peak", "", "lightbulb");
    const { uri } = this.overview;
    item.command = { command: `${SECTION}.showAnswer`, title: "Show What Would Lower the Peak", arguments: [{ uri }] };
    return new Node("advice", item, parent);
  }
}

function isSingle({ groups, values }: ValueGroup): boolean {
  return !groups.length && values.length === 1;
}

/** The path of a parameter without its start if it is long: the view would cut its end, which tells paths apart. */
function endOf(path: string): string {
  return path.length > LONGEST_PATH ? `…${path.slice(1 - LONGEST_PATH)}` : path;
}

/** The length of a source line that such a view shows beside a size, at the depth where lines are. */
const LONGEST_SOURCE = 15;

/** The length of a path that a view of the default width shows beside a size. */
const LONGEST_PATH = 28;

function spaceTooltip(space: SpaceOverview): string {
  const { name, capacity, peak_instruction: peakInstruction } = space;
  const limit = capacity ? [`Capacity: ${human(capacity.size_bytes)}, from ${capacity.source}`] : [];
  const peak = `Real peak: ${space.peak}${peakInstruction && `, while ${peakInstruction} runs`}`;
  const also = [...space.not_live.map((one) => `Also needed: ${one}`), ...space.notes];
  return [`Needed of ${name}: ${space.needed}`, peak, ...also, ...limit].join("\n");
}

/** A value by its name, or a parameter by its path. */
function valueNode(value: ValueEntry, space: SpaceOverview, parent: Node, group?: ValueGroup): Node {
  const { label, size_bytes: sizeBytes, op_name: opName, source, source_line: sourceLine, location } = value;
  const isWhole = group !== undefined && isSingle(group);
  const path = isWhole && group.kind === "path" ? group.label : value.path;
  const item = row(
    human(sizeBytes),
    path ? endOf(path) : label,
    joined(shareOfPeak(sizeBytes, space), path ? label : "", whatDiffers(value, group)),
    path ? "symbol-parameter" : "symbol-variable",
  );
  const sharedBytes = isWhole ? sizeBytes - group.size_bytes : 0;
  const shared = sharedBytes > 0 ? `${human(sharedBytes)} of it count for values that share its bytes` : "";
  item.tooltip = [`${label} · ${human(sizeBytes)}`, value.path, value.shape, opName, source, shared]
    .filter(Boolean)
    .join("\n");
  if (location) item.command = goToCommand(location);
  const parts = { name: label, key: `value ${value.value}`, location, sourceLine };
  return new Node(sourceLine ? "value source" : "value", item, parent, parts);
}

/** What the rows above a value do not say: its source line, its shape or, among like values, its op_name. */
function whatDiffers({ source, shape, op_name: opName }: ValueEntry, group?: ValueGroup): string {
  if (!group) return withoutFolders(source);
  return group.kind === "like" && !isSingle(group) ? opName : withoutLayout(shape);
}

/** The shape of an array without its layout. That of a tuple is as long as it is: a tooltip shows it. */
function withoutLayout(shape: string): string {
  return shape.startsWith("(") ? "" : shape.replace(/\{.*/, "");
}

function allocationNode(allocation: AllocationEntry, parent: Node): Node {
  const { index, kind, size_bytes: sizeBytes, most_live_bytes: mostLiveBytes, location } = allocation;
  const name = `allocation ${index}`;
  const used = mostLiveBytes === null ? "" : `${percent(mostLiveBytes, sizeBytes)} used`;
  const item = row(human(sizeBytes), name, joined(kind, used), "archive");
  item.tooltip = used && `At most ${human(mostLiveBytes ?? 0)} of ${human(sizeBytes)} are live at the same step.`;
  item.command = goToCommand(location);
  return new Node("allocation", item, parent, { name, key: `allocation ${allocation.allocation}`, location });
}

function fileNode(file: SetFile, parent: Node): Node {
  const uri = vscode.Uri.parse(file.uri);
  const name = basename(uri.path);
  // All files of a dump begin alike.
  const item = row(human(file.size_bytes), file.kind, name, "file");
  item.resourceUri = uri;
  item.iconPath = vscode.ThemeIcon.File;
  item.tooltip = uri.fsPath;
  item.command = { command: `${SECTION}.openFile`, title: "Open", arguments: [file.uri] };
  return new Node("file", item, parent, { name, uri });
}

function group(
  label: string,
  description: string,
  icon: string,
  parent: Node,
  children: (self: Node) => Promise<Node[]> | Node[],
  isExpanded = false,
): Node {
  return new Node("group", row("", label, description, icon), parent, { isExpanded }, children);
}

/** A node that opens what a list leaves out. */
function rest(count: number, parent: Node, children: (self: Node) => Promise<Node[]>): Node {
  return new Node("", row("", `and ${grouped(count)} smaller`, "", "ellipsis"), parent, {}, children);
}

function goToCommand(location: Location): vscode.Command {
  return { command: `${SECTION}.goToLocation`, title: "Go to Location", arguments: [location] };
}
