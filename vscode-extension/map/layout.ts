/** The layout of the lower plot: one allocation by its offsets, or several of a memory space stacked. */

import { type Model, NONE, stringAt } from "./model";

/** The bytes of an allocation in the plot. */
export interface Band {
  allocation: number;
  low: number;
  high: number;
}

export interface Layout {
  /** From bottom to top, the largest allocation first, without empty and folded ones. */
  bands: Band[];
  /** The bytes of all bands. */
  height: number;
  boxes: Boxes;
  /** The index in `boxes` of each value, NONE if it is not in the plot. */
  boxOf: Int32Array;
}

/**
 * One rectangle for each value, by start step: where two overlap, the later one is drawn above and owns the bytes (see
 * `live.ts`). Step s spans s - 1/2 to s + 1/2. Values without a live range span all steps.
 */
export interface Boxes {
  value: Int32Array;
  /** The indices of all boxes by area, smallest first. */
  bySize: Int32Array;
  left: Float64Array;
  right: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

/** In place of the index of one allocation: all of a memory space except constants and thread-local ones, or really all. */
export const [MAIN, ALL] = [NONE, -2];

/** The largest share of its memory space with which a constant is folded. */
const MAX_FOLDED_SHARE = 0.05;

/** The layout of one allocation, or of MAIN or ALL of a memory space. */
export function layOut(model: Model, color: number, allocation: number): Layout {
  const bands = stack(model, color, allocation);
  const base = new Map(bands.map((band) => [band.allocation, band.low]));
  const values: number[] = [];
  for (let value = 0; value < model.count; value++) {
    if (base.has(model.allocation[value]!) && model.size[value]! > 0) values.push(value);
  }
  const left = (value: number) => (model.isPlaced[value] ? model.start[value]! : 0) - 0.5;
  const right = (value: number) => (model.isPlaced[value] ? model.end[value]! : model.stepCount - 1) + 0.5;
  values.sort((a, b) => left(a) - left(b) || a - b);
  const areas = Float64Array.from(values, (value) => model.size[value]! * (right(value) - left(value)));
  const low = (value: number) => base.get(model.allocation[value]!)! + model.offset[value]!;
  const boxOf = new Int32Array(model.count).fill(NONE);
  for (const [box, value] of values.entries()) boxOf[value] = box;
  return {
    bands,
    height: bands.at(-1)?.high ?? 0,
    boxes: {
      value: Int32Array.from(values),
      bySize: Int32Array.from(values.keys()).sort((a, b) => areas[a]! - areas[b]! || b - a),
      left: Float64Array.from(values, left),
      right: Float64Array.from(values, right),
      low: Float64Array.from(values, low),
      high: Float64Array.from(values, (value) => low(value) + model.size[value]!),
    },
    boxOf,
  };
}

/** The allocations of a memory space, the largest first. */
export function allocationsOf({ map }: Model, color: number): number[] {
  const { size_bytes: sizeBytes, color: colors } = map.allocations;
  const rows = [...sizeBytes.keys()].filter((row) => colors[row] === color && sizeBytes[row]! > 0);
  return rows.sort((a, b) => sizeBytes[b]! - sizeBytes[a]! || a - b);
}

/** The allocations without those that say little about a program and can fill a plot: thread-local ones, and constants unless large. */
function mainOf(model: Model, rows: number[]): number[] {
  const { size_bytes: sizeBytes, kind } = model.map.allocations;
  const isOf = (row: number, name: string) => stringAt(model, kind[row]) === name;
  const own = rows.filter((row) => !isOf(row, "thread-local"));
  const most = MAX_FOLDED_SHARE * own.reduce((sum, row) => sum + sizeBytes[row]!, 0);
  const main = own.filter((row) => !isOf(row, "constant") || sizeBytes[row]! > most);
  return main.length ? main : rows;
}

function stack(model: Model, color: number, chosen: number): Band[] {
  const { size_bytes: sizeBytes, index } = model.map.allocations;
  const rows = allocationsOf(model, color);
  const one = rows.filter((row) => index[row] === chosen);
  let high = 0;
  return (one.length ? one : chosen === ALL ? rows : mainOf(model, rows)).map((allocation) => {
    const low = high;
    high += sizeBytes[allocation]!;
    return { allocation, low, high };
  });
}
