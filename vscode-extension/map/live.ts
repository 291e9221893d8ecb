/**
 * The live values at a step, and the bytes that each owns. If several values are live on a byte, the one that started last
 * owns it (by start step, then by row), so that the owned bytes add up to the live bytes of the curve.
 *
 * `owned_bytes` of the server has the same rule. It is implemented here as well because the page draws each step within a
 * frame and without a server; tests hold both against `test/map/data/*.json`.
 */

import type { Model } from "./model";

export interface LiveSet {
  /** The values that cover bytes of the space at the step, largest first. */
  values: number[];
  /** The bytes that each of `values` owns. */
  ownedBytes: number[];
}

export function liveAt(model: Model, color: number, step: number): LiveSet {
  const { start, end, size, isPlaced } = model;
  const values: number[] = [];
  for (let value = 0; value < model.count; value++) {
    if (start[value]! <= step && step <= end[value]! && isPlaced[value] && model.color[value] === color) {
      values.push(value);
    }
  }
  const owned = ownedBytes(model, values);
  values.sort((a, b) => size[b]! - size[a]! || a - b);
  return { values, ownedBytes: values.map((value) => owned.get(value)!) };
}

/** Sum the owned bytes by a key of the values, such as their source; greatest sum first. */
export function sums(live: LiveSet, keyOf: (value: number) => number): { key: number; ownedBytes: number }[] {
  const total = new Map<number, number>();
  live.values.forEach((value, index) => {
    const key = keyOf(value);
    total.set(key, (total.get(key) ?? 0) + live.ownedBytes[index]!);
  });
  return [...total]
    .filter(([, ownedBytes]) => ownedBytes > 0)
    .map(([key, ownedBytes]) => ({ key, ownedBytes }))
    .sort((a, b) => b.ownedBytes - a.ownedBytes || a.key - b.key);
}

/** The bytes that each of some values owns while all of them are live. */
export function ownedBytes(model: Model, values: number[]): Map<number, number> {
  const byAllocation = new Map<number, number[]>();
  for (const value of values) {
    const group = byAllocation.get(model.allocation[value]!);
    if (group) group.push(value);
    else byAllocation.set(model.allocation[value]!, [value]);
  }
  const owned = new Map<number, number>();
  for (const group of byAllocation.values()) ownInAllocation(model, group, owned);
  return owned;
}

/** Splits the bytes wherever a value begins or ends. Later values overwrite the owner of a piece. */
function ownInAllocation(model: Model, values: number[], owned: Map<number, number>): void {
  const { offset, size, start } = model;
  const bounds = new Set<number>();
  for (const value of values) bounds.add(offset[value]!).add(offset[value]! + size[value]!);
  const cuts = Float64Array.from(bounds).sort((a, b) => a - b);
  const pieceAt = new Map(Array.from(cuts, (cut, piece) => [cut, piece]));
  const owner = new Int32Array(cuts.length).fill(-1);
  for (const value of [...values].sort((a, b) => start[a]! - start[b]! || a - b)) {
    owner.fill(value, pieceAt.get(offset[value]!), pieceAt.get(offset[value]! + size[value]!));
    owned.set(value, 0);
  }
  for (let piece = 0; piece + 1 < cuts.length; piece++) {
    const value = owner[piece]!;
    if (value >= 0) owned.set(value, owned.get(value)! + cuts[piece + 1]! - cuts[piece]!);
  }
}
