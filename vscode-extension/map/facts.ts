/** The facts that tooltips show about values, steps and allocations. */

import { exact, grouped, human, percent } from "../shared/numbers";
import type { MapSpace } from "../shared/protocol";
import { bounded, shareOfPeak } from "../shared/spaces";
import { instructionAt, liveBytesAt, type Model, NONE, stringAt, valueString } from "./model";
import type { Scene } from "./scene";

export type Fact = [name: string, text: string];

/** The facts of a value, without unknown ones. */
export function factsOf(scene: Scene, value: number): Fact[] {
  const { model, space } = scene;
  const allocation = model.allocation[value]!;
  const isAtPeak = isLive(model, value, space.peakStep);
  const facts: Fact[] = [
    ["size", model.size[value]! >= 0 ? exact(model.size[value]!) : ""],
    ["shape", valueString(model, "shape", value)],
    ["padding", paddingText(model, value)],
    ["live", liveText(model, value)],
    ["at the peak", isAtPeak ? shareOfPeak(model.size[value]!, space) || "live" : "not live"],
    ["allocation", allocation >= 0 ? allocationText(model, allocation).join(", ") : "none"],
    ["offset", allocation >= 0 ? grouped(model.offset[value]!) : ""],
    ["op_name", valueString(model, "opName", value)],
    ["source", valueString(model, "source", value)],
  ];
  return facts.filter(([, text]) => text !== "");
}

export function paddingText(model: Model, value: number): string {
  const padding = model.map.values.paddingBytes[value] ?? NONE;
  if (padding < 0) return "";
  return padding ? `${human(padding)}, ${percent(padding, model.size[value]!)} of its bytes` : "none";
}

function isLive(model: Model, value: number, step: number): boolean {
  return step >= 0 && model.start[value]! >= 0 && model.start[value]! <= step && step <= model.end[value]!;
}

function liveText(model: Model, value: number): string {
  const [start, end] = [model.start[value]!, model.end[value]!];
  if (start < 0) return "no live range";
  const at = (step: number) => {
    const instruction = instructionAt(model, step);
    return grouped(step) + (instruction ? ` (${instruction})` : "");
  };
  return start === end ? `at step ${at(start)}` : `steps ${at(start)} to ${at(end)}`;
}

/** The facts of a step. */
export function stepFacts({ model, space, live, step: cursor }: Scene, step: number): Fact[] {
  const bytes = liveBytesAt(space, step);
  const facts: Fact[] = [
    ["runs", instructionAt(model, step)],
    ["live", stepShare(bytes, space)],
    ["values", step === cursor ? grouped(live.values.length) : ""],
  ];
  return facts.filter(([, text]) => text !== "");
}

function stepShare(bytes: number, space: MapSpace): string {
  const share = shareOfPeak(bytes, space);
  return bounded(bytes, space.peakBound) + (share && `, ${share} of the peak`);
}

/** The name of an allocation, and its size. */
export function allocationText(model: Model, allocation: number): [name: string, size: string] {
  const { index, kind, sizeBytes } = model.map.allocations;
  return [`${index[allocation]} ${stringAt(model, kind[allocation])}`, human(sizeBytes[allocation] ?? 0)];
}
