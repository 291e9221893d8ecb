/**
 * The live values at a step, and the bytes that each owns. If several values are live on a byte, the one that started last
 * owns it (by start step, then by row), so that the owned bytes add up to the live bytes of the curve.
 *
 * `owned_bytes` of the server has the same rule. It is implemented here as well because the page draws each step within a
 * frame and without a server; tests hold both against `test/map/data/*.json`.
 */

import { bisector } from "d3-array";
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
export function sums(live: LiveSet, keyOf: (value: number) => number): Map<number, number> {
  const total = new Map<number, number>();
  live.values.forEach((value, index) => {
    const key = keyOf(value);
    total.set(key, (total.get(key) ?? 0) + live.ownedBytes[index]!);
  });
  return new Map([...total].filter(([, bytes]) => bytes > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]));
}

/** Sum the owned bytes of the values that match. */
export function bytesOf({ values, ownedBytes }: LiveSet, isMatch: Uint8Array): number {
  return values.reduce((sum, value, index) => sum + (isMatch[value] ? ownedBytes[index]! : 0), 0);
}

/** The bytes that each of some values owns while all of them are live. */
function ownedBytes(model: Model, values: number[]): Map<number, number> {
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

/** The live bytes of each color over the schedule, which add up to the curve of the memory space. */
export interface Stack {
  /** The steps at which something starts or ends. */
  steps: number[];
  /** The live bytes from each of `steps`. */
  totals: number[];
  /** Those of each category. */
  bytes: Float64Array[];
}

interface Cluster {
  low: number;
  high: number;
  values: number[];
  /** The bytes of each category. */
  owned: [category: number, ownedBytes: number][];
}

const byHigh = bisector((cluster: Cluster) => cluster.high);

/**
 * Sweeps over the schedule with the live values of each allocation as clusters of overlapping bytes. Nearly all clusters are
 * one value; only within larger ones does a start or an end compute the owners again.
 */
export function stackOf(model: Model, color: number, categoryCount: number, of: Uint8Array): Stack {
  const { start, end, size, offset, allocation } = model;
  const values = [...model.isPlaced.keys()].filter((value) => model.isPlaced[value] && model.color[value] === color);
  const starts = values.sort((a, b) => start[a]! - start[b]! || a - b);
  const ends = [...starts].sort((a, b) => end[a]! - end[b]!);
  const level = new Float64Array(categoryCount);
  const clustersOf = new Map<number, Cluster[]>();

  const count = (cluster: Cluster, sign: 1 | -1) => {
    for (const [category, bytes] of cluster.owned) level[category]! += sign * bytes;
    return cluster;
  };
  /** The clusters of values by offset. */
  const clustered = (group: number[]): Cluster[] => {
    const found: Cluster[] = [];
    for (const value of group.sort((a, b) => offset[a]! - offset[b]!)) {
      const [low, high] = [offset[value]!, offset[value]! + size[value]!];
      const last = found.at(-1);
      if (last && low < last.high) {
        last.values.push(value);
        last.high = Math.max(last.high, high);
      } else found.push({ low, high, values: [value], owned: [[of[value]!, size[value]!]] });
    }
    for (const cluster of found) {
      if (cluster.values.length === 1) continue;
      cluster.owned = [...ownedBytes(model, cluster.values)].map(([value, bytes]) => [of[value]!, bytes]);
    }
    return found;
  };
  const replace = (clusters: Cluster[], first: number, removed: number, group: number[]) => {
    const added = group.length ? clustered(group) : [];
    for (const cluster of clusters.splice(first, removed, ...added)) count(cluster, -1);
    for (const cluster of added) count(cluster, 1);
  };
  const add = (value: number) => {
    const [low, high] = [offset[value]!, offset[value]! + size[value]!];
    const clusters = clustersOf.get(allocation[value]!) ?? [];
    clustersOf.set(allocation[value]!, clusters);
    const first = byHigh.right(clusters, low);
    let last = first;
    while (last < clusters.length && clusters[last]!.low < high) last++;
    replace(clusters, first, last - first, [...clusters.slice(first, last).flatMap((one) => one.values), value]);
  };
  const remove = (value: number) => {
    const clusters = clustersOf.get(allocation[value]!)!;
    const first = byHigh.right(clusters, offset[value]!);
    const rest = clusters[first]!.values.filter((other) => other !== value);
    replace(clusters, first, 1, rest);
  };

  const stack: Stack = { steps: [], totals: [], bytes: [] };
  const levels: Float64Array[] = [];
  for (let [started, ended] = [0, 0]; ended < ends.length; ) {
    const next = end[ends[ended]!]! + 1;
    const step = started < starts.length ? Math.min(start[starts[started]!]!, next) : next;
    for (; ended < ends.length && end[ends[ended]!]! + 1 === step; ended++) remove(ends[ended]!);
    for (; started < starts.length && start[starts[started]!] === step; started++) add(starts[started]!);
    stack.steps.push(step);
    stack.totals.push(level.reduce((sum, bytes) => sum + bytes, 0));
    levels.push(level.slice());
  }
  const ofCategory = (category: number) => Float64Array.from(levels, (bytes) => bytes[category]!);
  stack.bytes = Array.from({ length: categoryCount }, (_, category) => ofCategory(category));
  return stack;
}
