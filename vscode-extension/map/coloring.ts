/**
 * The colors of rectangles. Each of the largest groups of values has a color of its own. The others share one, since people
 * cannot distinguish more than about eight. Padding has a scale from light to dark instead.
 */

import type { MapSpace } from "../shared/protocol";
import { sourceLine } from "../shared/sources";
import { liveAt } from "./live";
import { type Model, NONE, stringAt } from "./model";

/** What colors can be by, with its name on the page. Only two dumps that are compared have changes. */
export const COLOR_NAMES = { change: "change", kind: "kind", op_name: "op_name", source: "source", padding: "padding" };

export type ColorBy = keyof typeof COLOR_NAMES;

export interface Category {
  name: string;
  color: Color;
}

/** An index into the palette or the scale of a theme, or one of its colors for other and for unknown names. */
export type Color = { palette: number } | { scale: number } | "other" | "unknown";

export interface Coloring {
  by: ColorBy;
  categories: Category[];
  /** The category of each value, as an index of `categories`. */
  of: Uint8Array;
}

/** The number of colors in the palette and in the scale of every theme. */
export const PALETTE_LENGTH = 8;
export const SCALE_LENGTH = 6;

/** The name of the category of values that lack what the colors are by. */
export const UNKNOWN: Readonly<Record<ColorBy, string>> = {
  kind: "no kind",
  op_name: "no op_name",
  source: "no source line",
  padding: "unknown",
  change: "not compared",
};

const KINDS = ["temp", "parameter", "output", "constant", "thread-local"];
/** Shares of padding, each up to that before it. */
const PADDED: [moreThan: number, name: string][] = [
  [0.75, "over 75 % padding"],
  [0.5, "50 to 75 %"],
  [0.25, "25 to 50 %"],
  [0.1, "10 to 25 %"],
  [0, "up to 10 %"],
  [-1, "no padding"],
];

/** The colors of what happened to a value between two dumps. */
const CHANGES: [name: string, color: Color][] = [
  ["added", { palette: 2 }],
  ["removed", { palette: 4 }],
  ["bigger", { palette: 1 }],
  ["smaller", { palette: 0 }],
  ["longer", { palette: 3 }],
  ["shorter", { palette: 5 }],
  ["changed otherwise", { palette: 6 }],
  ["unchanged", "other"],
];

/** What colors are by unless the reader chose it. */
export function defaultColorBy({ map }: Model): ColorBy {
  if (map.comparison) return "change";
  return map.values.source.some((source) => sourceLine(map.strings[source] ?? "")) ? "source" : "kind";
}

export function coloringBy(model: Model, space: MapSpace, by: ColorBy): Coloring {
  if (by === "change") return byChange(model);
  return by === "padding" ? byPadding(model) : byName(model, space, by);
}

/** A function that returns the name of a value's group, empty if it has none. */
export function groupNames(model: Model, by: Exclude<ColorBy, "padding">): (value: number) => string {
  const names = new Map<number, string>();
  return (value) => {
    const number = (by === "change" ? model.map.comparison?.change : model.map.values[by])?.[value] ?? NONE;
    let name = names.get(number);
    if (name === undefined) {
      const whole = stringAt(model, number);
      name = by === "op_name" ? scopeOf(whole) : whole;
      names.set(number, name);
    }
    return name;
  };
}

/**
 * The scope of an op_name: without the outermost `jit(...)` and the primitive at its end, and with a star for each number,
 * so that all layers of a model have one scope. If several op_names are joined, the first counts. A parameter's op_name is its
 * path, which keeps its first index, since that tells parameters from moments: `state[1]['layers'][*]['w']`.
 */
export function scopeOf(opName: string): string {
  const argument = /^[^/[]+\[\d+\](?=[[.]|$)/.exec(opName)?.[0];
  if (argument) return argument + opName.slice(argument.length).replace(/\d+/g, "*");
  const parts = opName.replace(/;.*/, "").replace(/\d+/g, "*").split("/");
  if (parts.length > 1 && /^p?jit\(/.test(parts[0]!)) parts.shift();
  if (parts.length > 1) parts.pop();
  return parts.join("/");
}

/** Colors values by fixed categories. `indexOf` returns the index of a value's category, or any other number if it is unknown. */
function byIndex(by: ColorBy, model: Model, fixed: typeof CHANGES, indexOf: (value: number) => number): Coloring {
  const categories = [...fixed, [UNKNOWN[by], "unknown"] as const].map(([name, color]) => ({ name, color }));
  return {
    by,
    categories,
    of: Uint8Array.from(model.size, (_, value) => Math.min(indexOf(value) >>> 0, fixed.length)),
  };
}

function byChange(model: Model): Coloring {
  const nameOf = groupNames(model, "change");
  const names = CHANGES.map(([name]) => name);
  return byIndex("change", model, CHANGES, (value) => names.indexOf(nameOf(value)));
}

function byPadding(model: Model): Coloring {
  const fixed = PADDED.map(([, name], index): [string, Color] => [name, { scale: SCALE_LENGTH - 1 - index }]);
  return byIndex("padding", model, fixed, (value) => {
    const [padding, size] = [model.map.values.padding_bytes[value] ?? NONE, model.size[value]!];
    return padding < 0 || size <= 0 ? NONE : PADDED.findIndex(([moreThan]) => padding / size > moreThan);
  });
}

/** Colors values by name, starting with the names that weigh most in a memory space. Kinds have fixed colors. */
function byName(model: Model, space: MapSpace, by: "kind" | "op_name" | "source"): Coloring {
  const nameOf = groupNames(model, by);
  const weight = new Map<string, number>();
  for (const [value, share] of weightsIn(model, space).entries()) {
    if (share > 0 && nameOf(value)) weight.set(nameOf(value), (weight.get(nameOf(value)) ?? 0) + share);
  }
  const names = [...weight.keys()].sort((a, b) => weight.get(b)! - weight.get(a)! || (a < b ? -1 : 1));
  const fixed = new Map(by === "kind" ? KINDS.map((name, index) => [name, index]) : []);
  const named = names.slice(0, PALETTE_LENGTH);
  const categories: Category[] = named.map((name, index) => ({ name, color: { palette: fixed.get(name) ?? index } }));
  const number = new Map(named.map((name, index) => [name, index]));
  const others = names.length - named.length;
  const other = others ? categories.push({ name: `${others} others`, color: "other" }) - 1 : NONE;
  const unknown = categories.push({ name: UNKNOWN[by], color: "unknown" }) - 1;
  const of = Uint8Array.from(model.size, (_, value) => {
    const name = nameOf(value);
    return number.get(name) ?? (name !== "" && other >= 0 ? other : unknown);
  });
  return { by, categories, of };
}

/**
 * The weight of each value of a memory space: its share of the peak plus its share of the area of all rectangles. Both
 * count, so that a line that holds the peak and a line that fills the picture both get a color.
 */
function weightsIn(model: Model, space: MapSpace): Float64Array {
  const areas = model.size.map((size, value) => {
    // A value without a live range weighs only where no value has one.
    const steps = model.isPlaced[value] ? model.end[value]! - model.start[value]! + 1 : 1e-6;
    return model.color[value] === space.color ? Math.max(0, size) * steps : 0;
  });
  const whole = areas.reduce((sum, area) => sum + area, 0) || 1;
  const weights = areas.map((area) => area / whole);
  const live = liveAt(model, space.color, space.peak_step ?? NONE);
  for (const [index, value] of live.values.entries()) {
    weights[value]! += live.ownedBytes[index]! / Math.max(1, space.peak_live_bytes);
  }
  return weights;
}

/** A group of values that the reader picked, such as all values of one source line. */
export interface Picked {
  by: ColorBy;
  /** The name of a category of the legend, or of any group. */
  name: string;
  /** The values themselves, if the group is that of the cursor in a file of the program. */
  values?: number[];
}

/** 1 for each value of the group. */
export function membersOf(model: Model, coloring: Coloring, { by, name, values }: Picked): Uint8Array {
  if (values) {
    const wanted = new Set(values);
    return Uint8Array.from(model.size, (_, value) => Number(wanted.has(value)));
  }
  const category = coloring.by === by ? coloring.categories.findIndex((one) => one.name === name) : -1;
  if (category >= 0) return coloring.of.map((one) => Number(one === category));
  if (by === "padding") return new Uint8Array(model.count);
  const nameOf = groupNames(model, by);
  const wanted = name === UNKNOWN[by] ? "" : name;
  return Uint8Array.from(model.size, (_, value) => Number(nameOf(value) === wanted));
}
