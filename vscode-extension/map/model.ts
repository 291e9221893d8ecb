/** The tables of a memory map, as typed arrays, and what is asked of them all the time. */

import { bisectRight } from "d3-array";
import type { MapSpace, MemoryMap } from "../src/protocol";

export const NONE = -1;

export interface Model {
  map: MemoryMap;
  /** The number of values. */
  count: number;
  /** One more than the last step that anything mentions. */
  stepCount: number;
  /** One number a value; `start` and `end` are NONE without a live range. */
  start: Float64Array;
  end: Float64Array;
  offset: Float64Array;
  size: Float64Array;
  allocation: Int32Array;
  /** The memory space of a value's allocation; NONE: it is in none. */
  color: Int32Array;
  /** Whether a value takes part in live bytes: it has a live range and some bytes of an allocation. */
  isPlaced: Uint8Array;
}

export function modelOf(map: MemoryMap): Model {
  const { values, allocations } = map;
  const [start, end] = [Float64Array.from(values.startStep), Float64Array.from(values.endStep)];
  const size = Float64Array.from(values.sizeBytes);
  const allocation = Int32Array.from(values.allocation);
  const color = allocation.map((row) => allocations.color[row] ?? NONE);
  let last = map.steps.length - 1;
  for (const step of end) last = Math.max(last, step);
  // The last change is the one after the last step, at which nothing is live any more.
  for (const { curveStep, peakStep } of map.spaces) last = Math.max(last, (curveStep.at(-1) ?? 0) - 1, peakStep);
  const isPlaced = Uint8Array.from(size, (bytes, value) =>
    Number(allocation[value]! >= 0 && bytes > 0 && start[value]! >= 0 && start[value]! <= end[value]!),
  );
  return {
    map,
    count: size.length,
    stepCount: Math.max(1, last + 1),
    start,
    end,
    offset: Float64Array.from(values.offsetBytes),
    size,
    allocation,
    color,
    isPlaced,
  };
}

/** A text of the map; empty if there is none. */
export function text(model: Model, number: number | undefined): string {
  return (number !== undefined && model.map.strings[number]) || "";
}

/** A column of texts of a value. */
export function valueText(
  model: Model,
  column: "label" | "kind" | "shape" | "opName" | "source",
  value: number,
): string {
  return text(model, model.map.values[column][value]);
}

/** The instruction of a step, empty if unknown. */
export function instructionAt(model: Model, step: number): string {
  return text(model, model.map.steps[step]);
}

/** The bytes live in a memory space at a step. */
export function liveBytesAt(space: MapSpace, step: number): number {
  return space.curveBytes[bisectRight(space.curveStep, step) - 1] ?? 0;
}

/** The memory space of a colour; without it the one with the greatest peak, or reserve; undefined if there is none. */
export function spaceOf(map: MemoryMap, color: number): MapSpace | undefined {
  const greatest = (best: MapSpace | undefined, space: MapSpace): MapSpace =>
    !best || rank(space) > rank(best) ? space : best;
  return map.spaces.find((space) => space.color === color) ?? map.spaces.reduce(greatest, undefined!);
}

function rank(space: MapSpace): number {
  return space.peakLiveBytes || space.reservedBytes / 2 ** 64;
}

/** What a memory space is called. */
export function spaceName(space: MapSpace): string {
  return space.name || `color_${space.color}`;
}

/** The next step after one, or before it, at which the live bytes of a space change; the same step if none does. */
export function nextChange(space: MapSpace, step: number, direction: 1 | -1): number {
  const place = bisectRight(space.curveStep, step);
  if (direction > 0) return space.curveStep[place] ?? step;
  return space.curveStep[space.curveStep[place - 1] === step ? place - 2 : place - 1] ?? step;
}
