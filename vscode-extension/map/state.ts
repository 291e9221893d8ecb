/** The state of the page: what the reader has chosen. It is saved by the editor, or in the fragment of the URL. */

import type { MemoryMap } from "../shared/protocol";
import { COLOR_NAMES, type ColorBy, type Picked } from "./coloring";
import { MAIN } from "./layout";
import { NONE } from "./model";

export interface State {
  /** The memory space; NONE: the worst one. */
  color: number;
  /** The index of the only allocation to show, MAIN: all but constants and thread-local ones, ALL: all of them. */
  allocation: number;
  /** The steps and the bytes in view; null: all. */
  steps: [number, number] | null;
  bytes: [number, number] | null;
  /** The step of the cursor; NONE: the peak. */
  step: number;
  /** The row of the selected value, or NONE. */
  selected: number;
  /** The row of the highlighted allocation, or NONE. */
  marked: number;
  /** null: by source line if the map has any, see `coloring.ts`; for two dumps, by change. */
  colorBy: ColorBy | null;
  /** The group of values that stands out; null: none. */
  picked: Picked | null;
  /** Whether only the picked group is shown. */
  isSolo: boolean;
  search: string;
  curveAs: "picture" | "table";
  valuesAs: "picture" | "flame" | "table";
  /** The first and the last step of the range that the reader asks about; null: none. */
  range: [number, number] | null;
  /** The shares of the panes that the reader resized, and the names of those that are folded. */
  panes: Partial<Record<PaneName, number>>;
  folded: PaneName[];
}

export type PaneName = "curve" | "values" | "side" | "details";

export const INITIAL: Readonly<State> = {
  color: NONE,
  allocation: MAIN,
  steps: null,
  bytes: null,
  step: NONE,
  selected: NONE,
  marked: NONE,
  colorBy: null,
  picked: null,
  isSolo: false,
  search: "",
  curveAs: "picture",
  valuesAs: "picture",
  range: null,
  panes: {},
  folded: [],
};

/** The saved form of a state. Identifies values by label and allocations by index, since rows change with each new dump. */
export type SavedState = Omit<State, "selected"> & { selected: string };

const NOTHING_SAVED: Readonly<SavedState> = { ...INITIAL, selected: "" };
const KEYS = Object.keys(NOTHING_SAVED) as (keyof SavedState)[];
const CHOICES: { [key in keyof SavedState]?: readonly unknown[] } = {
  colorBy: [null, ...Object.keys(COLOR_NAMES)],
  curveAs: ["picture", "table"],
  valuesAs: ["picture", "flame", "table"],
};

export function toSaved(state: State, { strings, values, allocations }: MemoryMap): SavedState {
  return {
    ...state,
    selected: strings[values.label[state.selected] ?? NONE] ?? "",
    marked: allocations.index[state.marked] ?? NONE,
    // Rows change with each new dump, and the cursor will move.
    picked: state.picked?.values ? null : state.picked,
  };
}

/** Restore a state. Parts that are missing, invalid or not in the map get their initial values. */
export function fromSaved(given: unknown, { strings, values, allocations, comparison }: MemoryMap): State {
  const saved: SavedState = { ...NOTHING_SAVED };
  for (const key of KEYS) {
    const value = (given as Partial<Record<string, unknown>> | null | undefined)?.[key];
    if (value !== undefined && fits(key, value)) Object.assign(saved, { [key]: value });
  }
  if (saved.colorBy === "change" && !comparison) saved.colorBy = INITIAL.colorBy;
  const selected = saved.selected ? values.label.findIndex((label) => strings[label] === saved.selected) : NONE;
  return { ...saved, selected, marked: allocations.index.indexOf(saved.marked) };
}

function fits(key: keyof SavedState, value: unknown): boolean {
  const choices = CHOICES[key];
  if (choices) return choices.includes(value);
  if (typeof NOTHING_SAVED[key] !== "object") {
    return typeof value === typeof NOTHING_SAVED[key] && (typeof value !== "number" || Number.isInteger(value));
  }
  if (typeof value !== "object" || value === null) return value === NOTHING_SAVED[key];
  const parts: unknown[] = Object.values(value);
  if (key === "folded") return Array.isArray(value) && parts.every((name) => typeof name === "string");
  if (key === "panes") return parts.every(Number.isFinite);
  const { by, name } = value as Partial<Picked>;
  if (key === "picked") return by !== undefined && CHOICES.colorBy!.includes(by) && typeof name === "string";
  return Array.isArray(value) && parts.length === 2 && parts.every(Number.isFinite);
}

/** Write a saved state as the fragment of a URL, without values that are initial. */
export function toHash(saved: SavedState): string {
  const parameters = new URLSearchParams();
  for (const key of KEYS) {
    const json = JSON.stringify(saved[key]);
    if (json !== JSON.stringify(NOTHING_SAVED[key])) parameters.set(key, json);
  }
  return parameters.toString();
}

/** Read the fragment of a URL, unchecked: see `fromSaved`. */
export function fromHash(hash: string): unknown {
  const saved: Record<string, unknown> = {};
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    try {
      saved[key] = JSON.parse(value);
    } catch {
      // Not written by this page.
    }
  }
  return saved;
}
