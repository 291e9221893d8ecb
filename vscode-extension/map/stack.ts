/**
 * The live bytes of each color over the schedule, which add up to the curve of the memory space: of several values that are
 * live on a byte, the one that started last owns it (see `live.ts`).
 *
 * Sweeps over the schedule with the live values of each allocation as clusters of overlapping bytes. Nearly all clusters are
 * one value; only within larger ones does a start or an end compute the owners again.
 */

import { bisector } from "d3-array";
import type { Coloring } from "./coloring";
import { ownedBytes } from "./live";
import type { Model } from "./model";

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

export function stackOf(model: Model, color: number, { categories, of }: Coloring): Stack {
  const { start, end, size, offset, allocation } = model;
  const values = [...model.isPlaced.keys()].filter((value) => model.isPlaced[value] && model.color[value] === color);
  const starts = values.sort((a, b) => start[a]! - start[b]! || a - b);
  const ends = [...starts].sort((a, b) => end[a]! - end[b]!);
  const level = new Float64Array(categories.length);
  const clustersOf = new Map<number, Cluster[]>();

  const count = (cluster: Cluster, sign: 1 | -1) => {
    for (const [category, bytes] of cluster.owned) level[category]! += sign * bytes;
    return cluster;
  };
  /** The clusters of values by offset. */
  const clustered = (group: number[]): Cluster[] => {
    if (group.length === 1) {
      const [only] = group as [number];
      const [low, bytes] = [offset[only]!, size[only]!];
      return [{ low, high: low + bytes, values: group, owned: [[of[only]!, bytes]] }];
    }
    const found: Cluster[] = [];
    for (const value of group.sort((a, b) => offset[a]! - offset[b]!)) {
      const [low, high] = [offset[value]!, offset[value]! + size[value]!];
      const last = found.at(-1);
      if (last && low < last.high) {
        last.values.push(value);
        last.high = Math.max(last.high, high);
      } else found.push({ low, high, values: [value], owned: [] });
    }
    for (const cluster of found) {
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
  stack.bytes = categories.map((_, category) => Float64Array.from(levels, (bytes) => bytes[category]!));
  return stack;
}
