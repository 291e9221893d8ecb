/** The maps for tests: those that the server makes of two real dumps, handmade ones and random ones. */

import type { MemoryMap } from "../../shared/protocol";
import hostOffload from "./data/host_offload.json";
import mlpTrain from "./data/mlp_train.json";

const TEXTS = { needed: "", reserved: "", peak: "", limit: "", headline: "", is_over: false, is_small: false };

/** The result of the server's `owned_bytes` at a step of a space. */
interface Owned {
  color: number;
  step: number;
  values: number[];
  ownedBytes: number[];
}

/** A training step on one CPU, and a program with several memory spaces on a TPU. */
export const REAL = {
  mlpTrain: mlpTrain as { map: MemoryMap; owned: Owned[] },
  hostOffload: hostOffload as { map: MemoryMap; owned: Owned[] },
};

export interface Slot {
  label?: string;
  allocation?: number;
  offset: number;
  size: number;
  start: number;
  end: number;
  opName?: string;
  source?: string;
  call?: number;
  derivedFrom?: string;
  kind?: string;
  padding?: number;
}

/** Make a map of one memory space, with a curve that is counted byte by byte. */
export function mapOf(
  slots: Slot[],
  allocationSizes: number[],
  stepCount: number,
  calls: [frame: string, caller: number][] = [],
): MemoryMap {
  const strings: string[] = [];
  const number = (text: string | undefined) => (text === undefined ? -1 : strings.push(text) - 1);
  const live = Array.from({ length: stepCount + 1 }, (_, step) => liveBytes(slots, allocationSizes, step));
  const changes = live.flatMap((bytes, step) => (bytes === (live[step - 1] ?? 0) ? [] : [step]));
  const peak = Math.max(...live);
  return {
    module: "jit_f",
    incomplete: "",
    strings,
    steps: Array.from({ length: stepCount }, (_, step) => number(`instruction.${step}`)),
    spaces: [
      {
        color: 0,
        name: "HBM",
        reserved_bytes: allocationSizes.reduce((sum, size) => sum + size, 0),
        needed_bytes: allocationSizes.reduce((sum, size) => sum + size, 0),
        reserved_bound: "exact",
        peak_live_bytes: peak,
        peak_bound: "exact",
        peak_step: peak ? live.indexOf(peak) : null,
        capacity: null,
        ...TEXTS,
        curve_step: changes,
        curve_bytes: changes.map((step) => live[step]!),
      },
    ],
    printed_peak: null,
    allocations: {
      index: allocationSizes.map((_, row) => row),
      color: allocationSizes.map(() => 0),
      size_bytes: allocationSizes,
      kind: allocationSizes.map(() => number("temp")),
    },
    values: {
      label: slots.map(({ label }, row) => number(label ?? `value.${row}`)),
      allocation: slots.map(({ allocation }) => allocation ?? 0),
      offset_bytes: slots.map(({ offset }) => offset),
      size_bytes: slots.map(({ size }) => size),
      start_step: slots.map(({ start }) => start),
      end_step: slots.map(({ end }) => end),
      kind: slots.map(({ kind }) => number(kind ?? "temp")),
      shape: slots.map(() => -1),
      op_name: slots.map(({ opName }) => number(opName)),
      source: slots.map(({ source }) => number(source)),
      call: slots.map(({ call }) => call ?? -1),
      derived_from: slots.map(({ derivedFrom }) => number(derivedFrom)),
      padding_bytes: slots.map(({ padding }) => padding ?? -1),
    },
    calls: { frame: calls.map(([frame]) => number(frame)), caller: calls.map(([, caller]) => caller) },
  };
}

/** Return a reproducible random generator (mulberry32) of integers from 0 up to, but excluding, `below`. */
export function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** Make a map with random values: overlapping, empty, without live range. */
export function randomMap(seed: number): MemoryMap {
  const below = chance(seed);
  const sizes = Array.from({ length: 1 + below(4) }, () => below(40));
  const slots = Array.from({ length: below(30) }, (): Slot => {
    const allocation = below(sizes.length);
    const offset = below(sizes[allocation]! + 1);
    const start = below(20) - 1;
    const end = start < 0 ? -1 : start + below(6);
    return { allocation, offset, size: below(sizes[allocation]! - offset + 1), start, end };
  });
  return mapOf(slots, sizes, 25);
}

function liveBytes(slots: Slot[], allocationSizes: number[], step: number): number {
  return allocationSizes
    .map((size, row) => {
      const here = slots.filter(({ allocation, start, end }) => {
        return (allocation ?? 0) === row && start >= 0 && start <= step && step <= end;
      });
      const isLive = (byte: number) => here.some(({ offset, size }) => offset <= byte && byte < offset + size);
      return Array.from({ length: size }, (_, byte) => byte).filter(isLive).length;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}
