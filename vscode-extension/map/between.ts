/** What happens between two steps: what is allocated, freed and live throughout, by group. */

import { changeText, counted, human } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import { type Coloring, groupNames, UNKNOWN } from "./coloring";
import { make, named, pressable, swatch } from "./dom";
import { liveAt } from "./live";
import { liveBytesAt, stepText } from "./model";
import type { Scene } from "./scene";
import { cssColor, type Theme } from "./theme";

/** What changes in a group of values from the first step of a range to its last one. */
export interface Change {
  name: string;
  /** The bytes that it owns at the last step, less those at the first one: all groups add up to the change of the curve. */
  growthBytes: number;
  /** The sizes of the values that start after the first step, and of those that end before the last one. */
  allocatedBytes: number;
  freedBytes: number;
  /** The bytes at the last step of values that are live at all steps. */
  throughoutBytes: number;
}

/** The changes in a range, what grows most first. */
export function changesIn({ model, space, coloring }: Scene, [first, last]: [number, number]): Change[] {
  const { start, end, size, isPlaced, color, count } = model;
  const nameOf = coloring.by === "padding" ? undefined : groupNames(model, coloring.by);
  const changes = new Map<string, Change>();
  const of = (value: number): Change => {
    const name = nameOf ? nameOf(value) || UNKNOWN[coloring.by] : coloring.categories[coloring.of[value]!]!.name;
    const known = changes.get(name) ?? { name, growthBytes: 0, allocatedBytes: 0, freedBytes: 0, throughoutBytes: 0 };
    changes.set(name, known);
    return known;
  };
  for (let value = 0; value < count; value++) {
    if (!isPlaced[value] || color[value] !== space.color) continue;
    if (start[value]! > first && start[value]! <= last) of(value).allocatedBytes += size[value]!;
    if (end[value]! >= first && end[value]! < last) of(value).freedBytes += size[value]!;
  }
  for (const [step, sign] of [[first, -1] as const, [last, 1] as const]) {
    const live = liveAt(model, space.color, step);
    for (const [index, value] of live.values.entries()) {
      const bytes = live.ownedBytes[index]!;
      of(value).growthBytes += sign * bytes;
      if (step === last && start[value]! <= first) of(value).throughoutBytes += bytes;
    }
  }
  return [...changes.values()].sort((a, b) => b.growthBytes - a.growthBytes || b.throughoutBytes - a.throughoutBytes);
}

/** The elements that show the changes in the range of a scene. A click picks the values of a group. */
export function rangeElements(scene: Scene, actions: Actions, theme: Theme): HTMLElement[] {
  const { model, space, coloring, state } = scene;
  const [first, last] = state.range!;
  const changes = changesIn(scene, state.range!);
  const [before, after] = [liveBytesAt(space, first), liveBytesAt(space, last)];
  const rows = changes.map((change) => rowOf(change, coloring, actions, theme));
  const end = () => actions.change({ range: null });
  return [
    make("h2", {}, `${changeText(after - before)} from step ${stepText(model, first)} to ${stepText(model, last)}`),
    make("p", { class: "total" }, `${human(before)} → ${human(after)}: ${aboutText(...changes)}`),
    make("p", { class: "total" }, `${counted(changes.length, "group")}, what grows most first:`),
    make("ol", { class: "live changes", "data-list": "changes" }, ...rows),
    pressable(end, { class: "more", "data-action": "clear-range" }, "Close (Esc)"),
  ];
}

function aboutText(...changes: Change[]): string {
  const parts = Object.entries({
    allocated: (one: Change) => one.allocatedBytes,
    freed: (one: Change) => one.freedBytes,
    "live throughout": (one: Change) => one.throughoutBytes,
  }).flatMap(([what, of]) => {
    const bytes = changes.reduce((sum, one) => sum + of(one), 0);
    return bytes ? [`${human(bytes)} ${what}`] : [];
  });
  return parts.join(", ") || "nothing";
}

function rowOf(change: Change, { by, categories }: Coloring, actions: Actions, theme: Theme): HTMLElement {
  const { color = "other" } = categories.find(({ name }) => name === change.name) ?? {};
  const row = pressable(
    () => actions.pick({ by, name: change.name }),
    { title: change.name },
    swatch(cssColor(theme, color)),
    named(withoutFolders(change.name)),
    make("span", { class: "size" }, changeText(change.growthBytes)),
    make("span", { class: "about" }, aboutText(change)),
  );
  return make("li", {}, row);
}
