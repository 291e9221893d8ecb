/** A group of values that the reader picked, such as all values of one source line. */

import { type ColorBy, type Coloring, groupNames, UNKNOWN } from "./coloring";
import type { Model } from "./model";

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
