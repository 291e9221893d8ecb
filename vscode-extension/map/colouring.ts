/**
 * What the colours of rectangles tell. The names of an attribute that weigh most have a colour each, and all others
 * share one: more than eight cannot be told apart by everyone. How much is padding has a scale from light to dark.
 */

import { type Layout } from "./layout";
import { type Model, NONE, text } from "./model";

export type ColouredBy = "kind" | "opName" | "source" | "padding";

export interface Category {
  name: string;
  colour: Colour;
}

/** The number of a colour in the theme's palette, or in its scale; or that of what is not told apart, or not known. */
export type Colour = { palette: number } | { scale: number } | "other" | "unknown";

export interface Colouring {
  categories: Category[];
  /** For each value the number of its category. */
  of: Uint8Array;
}

/** How many colours the palettes and the scales of all themes have. */
export const PALETTE_LENGTH = 8;
export const SCALE_LENGTH = 6;

const KINDS = ["temp", "parameter", "output", "constant", "thread-local"];
const PADDED: [least: number, name: string][] = [
  [0.75, "over 75 % padding"],
  [0.5, "50 to 75 %"],
  [0.25, "25 to 50 %"],
  [0.1, "10 to 25 %"],
  [0, "up to 10 %"],
  [-1, "no padding"],
];

export function colour(model: Model, layout: Layout, by: ColouredBy): Colouring {
  if (by === "padding") return byPadding(model);
  if (by === "kind") return byName(model, layout, (value) => text(model, model.map.values.kind[value]), KINDS);
  const known = new Map<number, string>();
  return byName(model, layout, (value) => {
    const number = model.map.values[by][value] ?? NONE;
    let name = known.get(number);
    if (name === undefined) {
      const whole = text(model, number);
      known.set(number, (name = by === "opName" ? scopeOf(whole) : whole));
    }
    return name;
  });
}

/**
 * The part of the program that an op_name tells: without the outermost `jit(...)` and the primitive at its end, and
 * with a star for each number, so that the layers of a model are one. Of several op_names the first counts.
 */
export function scopeOf(opName: string): string {
  const parts = opName.replace(/;.*/, "").replace(/\d+/g, "*").split("/");
  if (parts.length > 1 && /^p?jit\(/.test(parts[0]!)) parts.shift();
  if (parts.length > 1) parts.pop();
  return parts.join("/");
}

function byPadding(model: Model): Colouring {
  const of = Uint8Array.from(model.size, (size, value) => {
    const padding = model.map.values.paddingBytes[value] ?? NONE;
    if (padding < 0 || size <= 0) return PADDED.length;
    return PADDED.findIndex(([least]) => padding / size > least);
  });
  const categories: Category[] = PADDED.map(([, name], place) => ({
    name,
    colour: { scale: SCALE_LENGTH - 1 - place },
  }));
  return { categories: [...categories, { name: "unknown", colour: "unknown" }], of };
}

/** By the names of values: first those that are `known`, then those that cover most of the picture. */
function byName(model: Model, layout: Layout, nameOf: (value: number) => string, known: string[] = []): Colouring {
  const { boxes } = layout;
  const weight = new Map<string, number>();
  boxes.value.forEach((value, box) => {
    const area = (boxes.high[box]! - boxes.low[box]!) * (boxes.right[box]! - boxes.left[box]!);
    weight.set(nameOf(value), (weight.get(nameOf(value)) ?? 0) + area);
  });
  const names = [...weight.keys()].filter((name) => name !== "");
  names.sort((a, b) => weight.get(b)! - weight.get(a)! || (a < b ? -1 : 1));
  const fixed = new Map(known.map((name, place) => [name, place]));
  const told = names.slice(0, PALETTE_LENGTH);
  const categories: Category[] = told.map((name, place) => ({ name, colour: { palette: fixed.get(name) ?? place } }));
  const others = names.length > told.length ? `${names.length - told.length} others` : "";
  const number = new Map(told.map((name, place) => [name, place]));
  if (others) categories.push({ name: others, colour: "other" });
  const unknown = categories.push({ name: "unknown", colour: "unknown" }) - 1;
  const of = Uint8Array.from(model.size, (_, value) => {
    const name = nameOf(value);
    return number.get(name) ?? (name === "" ? unknown : Math.min(told.length, unknown));
  });
  if (!weight.has("")) categories.pop();
  return { categories, of };
}
