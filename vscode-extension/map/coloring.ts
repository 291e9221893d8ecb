/**
 * The colors of rectangles. Each of the most frequent names of an attribute has a color of its own. The others share one,
 * since people cannot distinguish more than about eight. Padding has a scale from light to dark instead.
 */

import type { Layout } from "./layout";
import { type Model, NONE, stringAt } from "./model";

export type ColorBy = "kind" | "opName" | "source" | "padding";

export interface Category {
  name: string;
  color: Color;
}

/** An index into the palette or the scale of a theme, or one of its colors for other and for unknown names. */
export type Color = { palette: number } | { scale: number } | "other" | "unknown";

export interface Coloring {
  categories: Category[];
  /** The category of each value, as an index of `categories`. */
  of: Uint8Array;
}

/** The number of colors in the palette and in the scale of every theme. */
export const PALETTE_LENGTH = 8;
export const SCALE_LENGTH = 6;

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

export function coloringBy(model: Model, layout: Layout, by: ColorBy): Coloring {
  if (by === "padding") return byPadding(model);
  if (by === "kind") return byName(model, layout, (value) => stringAt(model, model.map.values.kind[value]), KINDS);
  const names = new Map<number, string>();
  return byName(model, layout, (value) => {
    const number = model.map.values[by][value] ?? NONE;
    let name = names.get(number);
    if (name === undefined) {
      const whole = stringAt(model, number);
      name = by === "opName" ? scopeOf(whole) : whole;
      names.set(number, name);
    }
    return name;
  });
}

/**
 * The scope of an op_name: without the outermost `jit(...)` and the primitive at its end, and with a star for each number,
 * so that all layers of a model have one scope. If several op_names are joined, the first counts.
 */
export function scopeOf(opName: string): string {
  const parts = opName.replace(/;.*/, "").replace(/\d+/g, "*").split("/");
  if (parts.length > 1 && /^p?jit\(/.test(parts[0]!)) parts.shift();
  if (parts.length > 1) parts.pop();
  return parts.join("/");
}

function byPadding(model: Model): Coloring {
  const of = Uint8Array.from(model.size, (size, value) => {
    const padding = model.map.values.paddingBytes[value] ?? NONE;
    if (padding < 0 || size <= 0) return PADDED.length;
    return PADDED.findIndex(([moreThan]) => padding / size > moreThan);
  });
  const categories: Category[] = PADDED.map(([, name], index) => ({
    name,
    color: { scale: SCALE_LENGTH - 1 - index },
  }));
  return { categories: [...categories, { name: "unknown", color: "unknown" }], of };
}

/** Colors values by name, starting with the names that cover the largest area. `known` names have fixed colors. */
function byName(model: Model, layout: Layout, nameOf: (value: number) => string, known: string[] = []): Coloring {
  const { boxes } = layout;
  const weight = new Map<string, number>();
  boxes.value.forEach((value, box) => {
    const area = (boxes.high[box]! - boxes.low[box]!) * (boxes.right[box]! - boxes.left[box]!);
    weight.set(nameOf(value), (weight.get(nameOf(value)) ?? 0) + area);
  });
  const names = [...weight.keys()].filter((name) => name !== "");
  names.sort((a, b) => weight.get(b)! - weight.get(a)! || (a < b ? -1 : 1));
  const fixed = new Map(known.map((name, index) => [name, index]));
  const named = names.slice(0, PALETTE_LENGTH);
  const categories: Category[] = named.map((name, index) => ({ name, color: { palette: fixed.get(name) ?? index } }));
  const others = names.length > named.length ? `${names.length - named.length} others` : "";
  const number = new Map(named.map((name, index) => [name, index]));
  if (others) categories.push({ name: others, color: "other" });
  const unknown = categories.push({ name: "unknown", color: "unknown" }) - 1;
  const of = Uint8Array.from(model.size, (_, value) => {
    const name = nameOf(value);
    return number.get(name) ?? (name === "" ? unknown : Math.min(named.length, unknown));
  });
  if (!weight.has("")) categories.pop();
  return { categories, of };
}
