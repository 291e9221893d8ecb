/** What a reader has chosen, and how it is kept: by the editor, or in the address of the page. */

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

const KEYS = Object.keys(INITIAL) as (keyof State)[];
const CHOICES: { [key in keyof State]?: readonly unknown[] } = {
  colouredBy: ["kind", "opName", "source", "padding"],
  upTo: [null, "live", "reserved"],
  curveAs: ["picture", "table"],
  valuesAs: ["picture", "table"],
};

/** A state as the part of an address after the `#`: what is as at first is left out. */
export function toHash(state: State): string {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    const told = JSON.stringify(state[key]);
    if (told !== JSON.stringify(INITIAL[key])) parameters.set(key, told);
  }
  return parameters.toString();
}

export function fromHash(hash: string): State {
  const told: Record<string, unknown> = {};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    try {
      told[key] = JSON.parse(value);
    } catch {
      // Not one of ours.
    }
  }
  return fromKept(told);
}

/** A state from what was kept, of which anything may be missing or wrong. */
export function fromKept(kept: unknown): State {
  const state = { ...INITIAL };
  if (typeof kept !== "object" || kept === null) return state;
  for (const key of KEYS) {
    const value = (kept as Record<string, unknown>)[key];
    if (value !== undefined && fits(key, value)) Object.assign(state, { [key]: value });
  }
  return state;
}

function fits(key: keyof State, value: unknown): boolean {
  const choices = CHOICES[key];
  if (choices) return choices.includes(value);
  if (key === "steps" || key === "bytes") {
    return value === null || (Array.isArray(value) && value.length === 2 && value.every(Number.isFinite));
  }
  if (key === "hidden") return Array.isArray(value) && value.every((name) => typeof name === "string");
  return typeof value === typeof INITIAL[key] && (typeof value !== "number" || Number.isInteger(value));
}
