/** What a reader has chosen, and how it is kept: by the editor, or in the address of the page. */

import type { MemoryMap } from "../src/protocol";
import type { ColouredBy } from "./colouring";
import { NONE } from "./model";

export interface State {
  /** The memory space; NONE: the one with the greatest peak. */
  color: number;
  /** The allocation whose rectangles are shown, by its row; NONE: those of the whole space. */
  allocation: number;
  /** The first and the last step in view, and the bytes in view; null: all. */
  steps: [number, number] | null;
  bytes: [number, number] | null;
  /** The step whose live set is shown; NONE: the peak. */
  step: number;
  /** The value that is selected, NONE for none. */
  selected: number;
  /** The allocation that is marked, by its row, NONE for none. */
  marked: number;
  colouredBy: ColouredBy;
  /** The names of the categories that are hidden. */
  hidden: string[];
  search: string;
  /** The least size of a value that is shown, as it was written. */
  least: string;
  /** What the upper picture reaches up to; null: the reserve, unless that is far above. */
  upTo: "live" | "reserved" | null;
  curveAs: "picture" | "table";
  valuesAs: "picture" | "table";
}

export const INITIAL: Readonly<State> = {
  color: NONE,
  allocation: NONE,
  steps: null,
  bytes: null,
  step: NONE,
  selected: NONE,
  marked: NONE,
  colouredBy: "kind",
  hidden: [],
  search: "",
  least: "",
  upTo: null,
  curveAs: "picture",
  valuesAs: "picture",
};

/**
 * A state as it is kept: values by their labels and allocations by their indices, since a set that has been written
 * anew may have them in other rows.
 */
export type Kept = Omit<State, "selected"> & { selected: string };

const NOTHING_KEPT: Readonly<Kept> = { ...INITIAL, selected: "" };
const KEYS = Object.keys(NOTHING_KEPT) as (keyof Kept)[];
const CHOICES: { [key in keyof Kept]?: readonly unknown[] } = {
  colouredBy: ["kind", "opName", "source", "padding"],
  upTo: [null, "live", "reserved"],
  curveAs: ["picture", "table"],
  valuesAs: ["picture", "table"],
};

export function toKept(state: State, { strings, values, allocations }: MemoryMap): Kept {
  const index = (row: number) => allocations.index[row] ?? NONE;
  return {
    ...state,
    selected: strings[values.label[state.selected] ?? NONE] ?? "",
    allocation: index(state.allocation),
    marked: index(state.marked),
  };
}

/** A state from what was kept, of which anything may be missing, wrong, or not in the map any more. */
export function fromKept(told: unknown, { strings, values, allocations }: MemoryMap): State {
  const kept: Kept = { ...NOTHING_KEPT };
  for (const key of KEYS) {
    const value = (told as Partial<Record<string, unknown>> | null | undefined)?.[key];
    if (value !== undefined && fits(key, value)) Object.assign(kept, { [key]: value });
  }
  return {
    ...kept,
    selected: kept.selected ? values.label.findIndex((label) => strings[label] === kept.selected) : NONE,
    allocation: allocations.index.indexOf(kept.allocation),
    marked: allocations.index.indexOf(kept.marked),
  };
}

function fits(key: keyof Kept, value: unknown): boolean {
  const choices = CHOICES[key];
  if (choices) return choices.includes(value);
  if (key === "steps" || key === "bytes") {
    return value === null || (Array.isArray(value) && value.length === 2 && value.every(Number.isFinite));
  }
  if (key === "hidden") return Array.isArray(value) && value.every((name) => typeof name === "string");
  return typeof value === typeof NOTHING_KEPT[key] && (typeof value !== "number" || Number.isInteger(value));
}

/** What is kept as the part of an address after the `#`: what is as at first is left out. */
export function toHash(kept: Kept): string {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    const told = JSON.stringify(kept[key]);
    if (told !== JSON.stringify(NOTHING_KEPT[key])) parameters.set(key, told);
  }
  return parameters.toString();
}

export function fromHash(hash: string): unknown {
  const told: Record<string, unknown> = {};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    try {
      told[key] = JSON.parse(value);
    } catch {
      // Not one of ours.
    }
  }
  return told;
}
