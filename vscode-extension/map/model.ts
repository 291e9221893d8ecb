/** The columns of a memory map as typed arrays, and lookups in them. */

import { bisectRight } from "d3-array";
import { grouped } from "../shared/numbers";
import type { MapSpace, MemoryMap } from "../shared/protocol";
import { mainSpace } from "../shared/spaces";

export const NONE = -1;

export interface Model {
  map: MemoryMap;
  /** The number of values. */
  count: number;
  /** The last step that the map mentions, plus one. */
  stepCount: number;
  /** One entry for each value. `start` and `end` are NONE without a live range. */
  start: Float64Array;
  end: Float64Array;
  offset: Float64Array;
  size: Float64Array;
  allocation: Int32Array;
  /** The memory space of a value's allocation, NONE if it has no allocation. */
  color: Int32Array;
  /** Whether a value counts towards live bytes: it has a live range and covers bytes of an allocation. */
  isPlaced: Uint8Array;
}

export function modelOf(map: MemoryMap): Model {
  const { values, allocations } = map;
  const [start, end] = [Float64Array.from(values.start_step), Float64Array.from(values.end_step)];
  const size = Float64Array.from(values.size_bytes);
  const allocation = Int32Array.from(values.allocation);
  const color = allocation.map((row) => allocations.color[row] ?? NONE);
  let last = map.steps.length - 1;
  for (const step of end) last = Math.max(last, step);
  // The last change follows the last step: nothing is live.
  for (const { curve_step: curveStep, peak_step: peakStep } of map.spaces)
    last = Math.max(last, (curveStep.at(-1) ?? 0) - 1, peakStep ?? NONE);
  const isPlaced = Uint8Array.from(size, (bytes, value) =>
    Number(allocation[value]! >= 0 && bytes > 0 && start[value]! >= 0 && start[value]! <= end[value]!),
  );
  return {
    map,
    count: size.length,
    stepCount: Math.max(1, last + 1),
    start,
    end,
    offset: Float64Array.from(values.offset_bytes),
    size,
    allocation,
    color,
    isPlaced,
  };
}

/** A string of the map, empty for NONE. */
export function stringAt(model: Model, number: number | undefined): string {
  return (number !== undefined && model.map.strings[number]) || "";
}

type Text = "label" | "kind" | "shape" | "op_name" | "source";

/** A string of a value. */
export function valueString(model: Model, column: Text, value: number): string {
  return stringAt(model, model.map.values[column][value]);
}

/** The source or the op_name of a value, and whether it is derived: that of the instruction that computes its content. */
export function sourceText(model: Model, column: "op_name" | "source", value: number): string {
  const text = valueString(model, column, value);
  const isDerived = (model.map.values.derived_from[value] ?? NONE) !== NONE;
  return text && isDerived ? `${text} (derived)` : text;
}

/** The path of a parameter in the arguments of the program, which is its op_name; empty for other values. */
export function pathOf(model: Model, value: number): string {
  const [source, opName] = [valueString(model, "source", value), valueString(model, "op_name", value)];
  const argument = /^parameters (.*)$/s.exec(source)?.[1];
  return argument && opName.startsWith(argument) ? opName : "";
}

/** A step as its dump counts it; two dumps that are compared share an axis of steps. */
export function ownStep({ map }: Model, step: number): number {
  return map.comparison?.own_step[step] ?? step;
}

/** The instruction of a step, empty if unknown. */
export function instructionAt(model: Model, step: number): string {
  return stringAt(model, model.map.steps[step]);
}

/** A step as its dump counts it, with its instruction: `35 (dot)`. */
export function stepText(model: Model, step: number): string {
  const instruction = instructionAt(model, step);
  return grouped(ownStep(model, step)) + (instruction && ` (${instruction})`);
}

/** The bytes live in a memory space at a step. */
export function liveBytesAt(space: MapSpace, step: number): number {
  return space.curve_bytes[bisectRight(space.curve_step, step) - 1] ?? 0;
}

/** The memory space of a color, or else the main memory. */
export function spaceOf(map: MemoryMap, color: number): MapSpace {
  return map.spaces.find((space) => space.color === color) ?? mainSpace(map.spaces)!;
}

/** The next or previous step at which the live bytes of a space change, or the same step if there is none. */
export function nextChange(space: MapSpace, step: number, direction: 1 | -1): number {
  const index = bisectRight(space.curve_step, step);
  if (direction > 0) return space.curve_step[index] ?? step;
  return space.curve_step[space.curve_step[index - 1] === step ? index - 2 : index - 1] ?? step;
}
