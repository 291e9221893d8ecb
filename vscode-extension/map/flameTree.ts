/**
 * Where bytes come from, as a tree of Python calls: for the values that are live at a step, or for the difference between two
 * sets of live values, such as those of two dumps or of two steps.
 */

import { UNKNOWN } from "./coloring";
import type { LiveSet } from "./live";
import { NONE, stringAt, valueString } from "./model";
import { HIDDEN } from "./raster";
import type { Scene } from "./scene";

export interface Call {
  /** The call, or the name of the value. Empty for the root. */
  name: string;
  /** The row of the value, NONE for a call. */
  value: number;
  caller: Call | null;
  /** The bytes before and after; without a difference, only after. */
  bytes: [number, number];
  counts: [number, number];
  /** What it takes of the width: its bytes, or where there are two, at least the greater ones. */
  width: number;
  /** The largest callee first. */
  callees: Call[];
  /** The bytes of each color. */
  colors: Map<number, number>;
  /** Whether values that match the search come from it. */
  isFound: boolean;
}

export interface Flame {
  root: Call;
  isDifference: boolean;
}

/** Live values that count as before (0) or after (1). */
export interface Part {
  scene: Scene;
  live: LiveSet;
  side: 0 | 1;
}

/** The flame graph of a scene: of two dumps or of a range of steps the difference, else of the step. */
export function flameOf(parts: readonly Part[]): Flame {
  const isDifference = parts.length > 1;
  const root = frameOf("", NONE, null);
  const callees = new Map<Call, Map<string, Call>>();
  const calleeOf = (caller: Call, name: string, value = NONE): Call => {
    const known = callees.get(caller) ?? new Map<string, Call>();
    callees.set(caller, known);
    const key = value === NONE ? name : String(value);
    const found = known.get(key) ?? frameOf(name, value, caller);
    if (!known.has(key)) caller.callees.push(found);
    known.set(key, found);
    return found;
  };
  for (const { scene, live, side } of parts) {
    const { model, coloring, emphasis, search } = scene;
    const frames = new Map<number, Call>();
    const frameAt = (row: number): Call => {
      if (row === NONE) return root;
      const known = frames.get(row);
      if (known) return known;
      const { frame, caller } = model.map.calls;
      const found = calleeOf(frameAt(caller[row] ?? NONE), stringAt(model, frame[row]));
      frames.set(row, found);
      return found;
    };
    for (const [index, value] of live.values.entries()) {
      const bytes = live.ownedBytes[index]!;
      if (!bytes || emphasis[value] === HIDDEN) continue;
      const call = model.map.values.call[value] ?? NONE;
      // A parameter comes from its argument.
      const argument = () => calleeOf(root, valueString(model, "source", value) || UNKNOWN.source);
      let frame = call === NONE ? argument() : frameAt(call);
      if (!isDifference) frame = calleeOf(frame, valueString(model, "label", value), value);
      for (let at: Call | null = frame; at; at = at.caller) {
        at.bytes[side] += bytes;
        at.counts[side]++;
        at.isFound ||= !search.isOn || search.isMatch[value] === 1;
        const color = coloring.of[value]!;
        at.colors.set(color, (at.colors.get(color) ?? 0) + bytes);
      }
    }
  }
  measure(root);
  return { root, isDifference };
}

function frameOf(name: string, value: number, caller: Call | null): Call {
  const none = { bytes: [0, 0] as Call["bytes"], counts: [0, 0] as Call["counts"], width: 0 };
  return { name, value, caller, ...none, callees: [], colors: new Map(), isFound: false };
}

/** Computes widths, so that the callees of a frame fit below it, and sorts. */
function measure(frame: Call): void {
  for (const callee of frame.callees) measure(callee);
  frame.callees.sort((a, b) => b.width - a.width || (a.name < b.name ? -1 : 1));
  const sum = (of: (callee: Call) => number) => frame.callees.reduce((total, callee) => total + of(callee), 0);
  const own = [0, 1].map((side) => frame.bytes[side]! - sum(({ bytes }) => bytes[side]!));
  frame.width = Math.max(...own) + sum(({ width }) => width);
}

/** The calls from the root to a frame, which identify it. */
export function pathOf(frame: Call | null): string {
  return frame ? `${pathOf(frame.caller)}\n${frame.value}${frame.name}` : "";
}
