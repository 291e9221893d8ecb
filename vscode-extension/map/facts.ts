/** What is told of a value, of a place in an allocation and of a step, in words. */

import { instructionAt, liveBytesAt, type Model, NONE, text, valueText } from "./model";
import { exact, grouped, human, percent } from "./numbers";
import type { Scene } from "./scene";

export type Fact = [name: string, words: string];

/** The facts of a value; what is not known is left out. */
export function factsOf(scene: Scene, value: number): Fact[] {
  const { model, space } = scene;
  const allocation = model.allocation[value]!;
  const isAtPeak = isLive(model, value, space.peakStep);
  const facts: Fact[] = [
    ["size", model.size[value]! >= 0 ? exact(model.size[value]!) : ""],
    ["shape", valueText(model, "shape", value)],
    ["padding", paddingWords(model, value)],
    ["live", liveWords(model, value)],
    ["at the peak", isAtPeak ? percent(model.size[value]!, space.peakLiveBytes) : "not live"],
    ["allocation", allocation >= 0 ? allocationWords(model, allocation).join(", ") : "none"],
    ["offset", allocation >= 0 ? grouped(model.offset[value]!) : ""],
    ["op_name", valueText(model, "opName", value)],
    ["source", valueText(model, "source", value)],
  ];
  return facts.filter(([, words]) => words !== "");
}

export function paddingWords(model: Model, value: number): string {
  const padding = model.map.values.paddingBytes[value] ?? NONE;
  if (padding < 0) return "";
  return padding ? `${human(padding)}, ${percent(padding, model.size[value]!)} of its bytes` : "none";
}

function isLive(model: Model, value: number, step: number): boolean {
  return step >= 0 && model.start[value]! >= 0 && model.start[value]! <= step && step <= model.end[value]!;
}

function liveWords(model: Model, value: number): string {
  const [start, end] = [model.start[value]!, model.end[value]!];
  if (start < 0) return "it has no live range";
  const at = (step: number) => {
    const instruction = instructionAt(model, step);
    return grouped(step) + (instruction ? ` (${instruction})` : "");
  };
  return start === end ? `at step ${at(start)}` : `steps ${at(start)} to ${at(end)}`;
}

/** What is told of a step. */
export function stepFacts({ model, space, live, step: cursor }: Scene, step: number): Fact[] {
  const bytes = liveBytesAt(space, step);
  const facts: Fact[] = [
    ["runs", instructionAt(model, step)],
    ["live", `${human(bytes)}, ${percent(bytes, space.peakLiveBytes)} of the peak`],
    ["values", step === cursor ? grouped(live.values.length) : ""],
  ];
  return facts.filter(([, words]) => words !== "");
}

/** The name of an allocation, and what is told of it. */
export function allocationWords(model: Model, allocation: number): [name: string, about: string] {
  const { index, kind, sizeBytes } = model.map.allocations;
  return [`${index[allocation]} ${text(model, kind[allocation])}`, human(sizeBytes[allocation] ?? 0)];
}
