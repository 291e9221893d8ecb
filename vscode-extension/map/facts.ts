/** The facts that tooltips show about values, steps and allocations. */

import { counted, exact, grouped, human, percent } from "../shared/numbers";
import type { MapSpace } from "../shared/protocol";
import { bounded, shareOfPeak } from "../shared/spaces";
import { UNKNOWN } from "./coloring";
import { bytesOf, sums } from "./live";
import { instructionAt, liveBytesAt, NONE, ownStep, sourceText, stepText, stringAt, valueString } from "./model";
import type { Scene } from "./scene";

type Model = Scene["model"];

const MAX_SHARERS = 3;

export type Fact = [name: string, text: string];

/** Facts without unknown ones. */
function known(...facts: Fact[]): Fact[] {
  return facts.filter(([, text]) => text !== "");
}

/** The facts of a value, without unknown ones. */
export function factsOf(scene: Scene, value: number): Fact[] {
  const { model } = scene;
  const space = model.map.spaces.find(({ color }) => color === model.color[value]) ?? scene.space;
  const [allocation, size] = [model.allocation[value]!, model.size[value]!];
  const share = shareOfPeak(size, space);
  const isAtPeak = isLive(model, value, space.peak_step ?? NONE);
  return known(
    ["size", size >= 0 ? exact(size) : ""],
    ["at the peak", isAtPeak ? (share && `${share} of the ${space.name} peak`) || "live" : "not live"],
    ...otherFacts(scene, value),
    ["source", sourceText(model, "source", value)],
    ["op_name", sourceText(model, "op_name", value)],
    ["derived from", stringAt(model, model.map.values.derived_from[value])],
    ["live", liveText(model, value)],
    ["shape", valueString(model, "shape", value)],
    ["padding", paddingText(model, value)],
    ["allocation", allocation >= 0 ? allocationText(model, allocation).join(", ") : "none"],
    ["offset", allocation >= 0 ? grouped(model.offset[value]!) : ""],
    ["shares its bytes", sharersText(model, value)],
  );
}

/** What a value is in the other dump of a comparison. */
export function otherFacts({ model, other }: Scene, value: number): Fact[] {
  const { comparison } = model.map;
  if (!comparison || !other) return [];
  const partner = comparison.partner[value] ?? NONE;
  const name = `in the ${comparison.side === "old" ? "new" : "old"} dump`;
  const facts: Fact[] = [["change", stringAt(model, comparison.change[value])]];
  if (partner === NONE) return [...facts, [name, "not there"]];
  const text = `${valueString(other.model, "label", partner)}, ${human(other.model.size[partner]!)}`;
  return [...facts, [name, `${text}, ${liveText(other.model, partner)}`]];
}

export function paddingText(model: Model, value: number): string {
  const padding = model.map.values.padding_bytes[value] ?? NONE;
  if (padding < 0) return "";
  return padding ? `${human(padding)}, ${percent(padding, model.size[value]!)} of its bytes` : "none";
}

/** The other values on the same bytes: how many, and the nearest in time. */
function sharersText(model: Model, value: number): string {
  const { allocation, offset, size, start, end, isPlaced } = model;
  if (!isPlaced[value]) return "";
  const [low, high] = [offset[value]!, offset[value]! + size[value]!];
  const distance = (other: number) => Math.max(start[other]! - end[value]!, start[value]! - end[other]!);
  const found = [...size.keys()]
    .filter((other) => isPlaced[other] && allocation[other] === allocation[value] && other !== value)
    .filter((other) => offset[other]! < high && offset[other]! + size[other]! > low)
    .sort((a, b) => distance(a) - distance(b) || a - b);
  if (!found.length) return "";
  const names = found.slice(0, MAX_SHARERS).map((other) => {
    return `${valueString(model, "label", other)} (steps ${grouped(start[other]!)}–${grouped(end[other]!)})`;
  });
  const nearest = found.length > names.length ? "; the nearest" : "";
  return `with ${counted(found.length, "other value")}${nearest}: ${names.join(", ")}`;
}

/** The facts of the matches of a search or of a picked group. */
export function matchFacts(scene: Scene): Fact[] {
  const { search, space, model, matchedBytes, live } = scene;
  const sizes = search.matches.reduce((sum, value) => sum + model.size[value]!, 0);
  return known(
    ["buffers", grouped(search.matches.length) + (search.elsewhere ? `, ${grouped(search.elsewhere)} elsewhere` : "")],
    [`at the ${space.name} peak`, space.peak_step === null ? "" : stepShare(matchedBytes, space)],
    [
      `at step ${grouped(ownStep(scene.model, scene.step))}`,
      space.peak_step === null ? "" : human(bytesOf(live, search.isMatch)),
    ],
    ["sum of sizes", human(sizes)],
  );
}

/** How much matches: `71 buffers, 1.08 TiB of the peak (76.4 %)`. */
export function matchedText({ search, space, matchedBytes }: Scene): string {
  const buffers = counted(search.matches.length, "buffer");
  if (space.peak_step === null) return `${buffers}, ${human(matchedBytes)}`;
  const share = shareOfPeak(matchedBytes, space);
  return `${buffers}, ${human(matchedBytes)} of the peak${share && ` (${share})`}`;
}

/** The source line of the selected value, or else of the picked group; empty if there is none. */
export function sourceOf({ model, state }: Scene): string {
  if (state.selected >= 0) return valueString(model, "source", state.selected);
  const { picked } = state;
  return picked?.by === "source" && picked.name !== UNKNOWN.source && model.map.strings.includes(picked.name)
    ? picked.name
    : "";
}

function isLive(model: Model, value: number, step: number): boolean {
  return step >= 0 && model.start[value]! >= 0 && model.start[value]! <= step && step <= model.end[value]!;
}

function liveText(model: Model, value: number): string {
  const [start, end] = [model.start[value]!, model.end[value]!];
  if (start < 0) return "no live range";
  const [first, last] = [stepText(model, start), stepText(model, end)];
  return start === end ? `at step ${first}` : `steps ${first} to ${last}`;
}

/** What is live at a step in the other dump of a comparison. */
export function otherStepFacts({ space, other }: Scene, step: number): Fact[] {
  const isSame = other?.space.color === space.color;
  return isSame ? [["in the other dump", human(liveBytesAt(other.space, step))]] : [];
}

/** The facts of a step. */
export function stepFacts(scene: Scene, step: number): Fact[] {
  const { model, space, live, step: cursor } = scene;
  const bytes = liveBytesAt(space, step);
  return known(
    ["runs", instructionAt(model, step)],
    ["live", stepShare(bytes, space)],
    ...otherStepFacts(scene, step),
    ["values", step === cursor ? grouped(live.values.length) : ""],
  );
}

function stepShare(bytes: number, space: MapSpace): string {
  const share = shareOfPeak(bytes, space);
  return bounded(bytes, space.peak_bound) + (share && `, ${share} of the peak`);
}

/** The facts of the peak of a space; of two dumps that are compared, those of the other one behind those that differ. */
export function peakFacts(scene: Scene): Fact[] {
  const { other, model, space } = scene;
  if (!other || other.space.color !== space.color) return factsOfPeak(scene);
  const [facts, others] = [factsOfPeak(scene), new Map(factsOfPeak(other))];
  const dump = model.map.comparison?.side === "old" ? "new" : "old";
  const compared = facts.map(([name, text]): Fact => {
    const there = others.get(name) ?? "none";
    return [name, there === text ? text : `${text} (${dump}: ${there})`];
  });
  const names = new Set(facts.map(([name]) => name));
  const gone = [...others].filter(([name]) => !names.has(name));
  return [...compared, ...gone.map(([name, text]): Fact => [name, `none (${dump}: ${text})`])];
}

/** Where a peak is, and what it consists of. */
function factsOfPeak({ model, space, peak }: Scene): Fact[] {
  const { capacity } = space;
  const limit: Fact[] = capacity ? [["limit", `${human(capacity.size_bytes)} (${capacity.source})`]] : [];
  if (capacity && space.is_over) limit.push(["over the limit", `${human(capacity.over_bytes ?? 0)} too much`]);
  const shareOfLimit = (bytes: number) => (capacity ? `, ${percent(bytes, capacity.size_bytes)} of the limit` : "");
  const needed: Fact = ["needed", space.needed + shareOfLimit(space.needed_bytes)];
  if (space.peak_step === null) return [needed, ["reserved", space.reserved], ...limit];
  const byKind = [...sums(peak, (value) => model.map.values.kind[value] ?? NONE)].map(([kind, bytes]): Fact => {
    const share = shareOfPeak(bytes, space);
    return [stringAt(model, kind) || "no kind", human(bytes) + (share && `, ${share}`) + shareOfLimit(bytes)];
  });
  return [
    needed,
    ["live", space.peak],
    ["step", stepText(model, space.peak_step)],
    ...byKind,
    ["buffers", grouped(peak.values.length)],
    ["reserved", space.reserved],
    ...limit,
  ];
}

/** The name of an allocation, and its size. */
export function allocationText(model: Model, allocation: number): [name: string, size: string] {
  const { index, kind, size_bytes: sizeBytes } = model.map.allocations;
  return [`${index[allocation]} ${stringAt(model, kind[allocation])}`, human(sizeBytes[allocation] ?? 0)];
}
