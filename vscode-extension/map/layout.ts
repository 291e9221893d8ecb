/** Where allocations and values lie in the lower picture: one allocation by its offsets, or all, one above another. */

import { type Model, NONE } from "./model";

/** The bytes of an allocation in the picture. */
export interface Band {
  allocation: number;
  low: number;
  high: number;
}

export interface Layout {
  /** From the bottom to the top: the biggest allocation lies lowest. Those of no bytes are left out. */
  bands: Band[];
  /** The bytes of all bands. */
  height: number;
  boxes: Boxes;
  /** For each value its place in `boxes`, NONE if it is not in the picture. */
  boxOf: Int32Array;
}

/**
 * One rectangle a value, in the order of birth: where two meet the later lies above, as its bytes are its own (see
 * `live.ts`). Step s is as wide as s - 1/2 to s + 1/2. What has no live range is as wide as all steps.
 */
export interface Boxes {
  value: Int32Array;
  /** The places of all boxes, those that cover the least first. */
  bySize: Int32Array;
  left: Float64Array;
  right: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

/** Of one allocation, or with NONE of a whole memory space. */
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
  values.forEach((value, place) => (boxOf[value] = place));
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

function stack(model: Model, color: number, allocation: number): Band[] {
  const { sizeBytes, color: colors } = model.map.allocations;
  const rows = sizeBytes.map((_, row) => row).filter((row) => colors[row] === color && sizeBytes[row]! > 0);
  const shown = rows.includes(allocation) ? [allocation] : rows;
  let low = 0;
  return shown
    .sort((a, b) => sizeBytes[b]! - sizeBytes[a]! || a - b)
    .map((row) => ({ allocation: row, low, high: (low += sizeBytes[row]!) }));
}
