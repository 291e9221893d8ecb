/**
 * The legend: the colors in the plots, with their bytes at the step as bars, the most first. A click picks the values of a color, and a double click on a
 * source opens its line.
 */

import { human, percent } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import { COLOR_NAMES, type Coloring, UNKNOWN } from "./coloring";
import { make, named, onPress, swatch, write } from "./dom";
import type { Layout } from "./layout";
import { sums } from "./live";
import { changes } from "./memoize";
import type { Drawing, Scene } from "./scene";
import { cssColor } from "./theme";

export function createLegend(actions: Actions, scene: () => Scene): Drawing {
  const list = make("ul", {
    class: "legend",
    "aria-label": "Colors; press one to pick its values",
    "data-list": "legend",
  });
  const title = make("summary", {});
  const element = make("details", { open: true }, title, list);
  const isNew = changes();
  onPress(list, "category", (name, isDouble) => {
    const { by } = scene().coloring;
    if (!isDouble) actions.pick({ by, name });
    else if (name !== UNKNOWN.source && by === "source") actions.openSource(name);
  });
  return {
    element,
    draw(scene, theme) {
      const { coloring, live, liveBytes, layout, state, other } = scene;
      if (isNew(coloring, layout, theme)) {
        const used = usedIn(layout, coloring);
        // The colors of what happened to values are the same in both dumps of a comparison.
        if (other && coloring.by === "change") for (const one of usedIn(other.layout, other.coloring)) used.add(one);
        write(title, `By ${COLOR_NAMES[coloring.by]}`);
        list.replaceChildren(
          ...coloring.categories.flatMap(({ name, color }, category) => {
            if (!used.has(category)) return [];
            const shown = cssColor(theme, color);
            const entry = make(
              "button",
              { type: "button", "data-category": name, "data-number": category },
              swatch(shown),
              named(ending(name)),
              make("span", { class: "track" }, swatch(shown, "bar")),
              make("span", { class: "size" }),
              make("span", { class: "share" }),
            );
            return make("li", {}, entry);
          }),
        );
      }
      const owned = sums(live, (value) => coloring.of[value]!);
      for (const entry of list.querySelectorAll("button")) {
        const name = entry.dataset.category!;
        const bytes = owned.get(Number(entry.dataset.number)) ?? 0;
        const isPicked = state.picked?.by === coloring.by && state.picked.name === name;
        entry.setAttribute("aria-pressed", String(isPicked));
        entry.querySelector<HTMLElement>(".bar")!.style.width = `${liveBytes ? (100 * bytes) / liveBytes : 0}%`;
        entry.title = name;
        write(entry.querySelector(".size")!, human(bytes));
        write(entry.querySelector(".share")!, percent(bytes, liveBytes));
      }
      // Padding is a scale, and what is unchanged comes last.
      if (coloring.by !== "padding" && coloring.by !== "change")
        rank(list, (entry) => owned.get(Number(entry.dataset.number)) ?? 0);
    },
  };
}

/** Puts the entries of a list in the order of a number, the greatest first. What has the focus keeps it. */
function rank(list: HTMLElement, numberOf: (entry: HTMLElement) => number): void {
  const items = [...list.children];
  const numbers = new Map(items.map((item) => [item, numberOf(item.querySelector("button")!)]));
  const sorted = [...items].sort((one, other) => numbers.get(other)! - numbers.get(one)!);
  if (sorted.every((item, index) => item === items[index])) return;
  const focused = document.activeElement;
  list.replaceChildren(...sorted);
  if (focused instanceof HTMLElement && list.contains(focused)) focused.focus({ preventScroll: true });
}

/** The categories that have a rectangle. */
function usedIn(layout: Layout, { of }: Coloring): Set<number> {
  const used = new Set<number>();
  for (const value of layout.boxes.value) used.add(of[value]!);
  return used;
}

const MAX_CHARACTERS = 44;

/** The end of an op_name, its most specific part, or a source without its folders. The title has the whole name. */
export function ending(whole: string): string {
  const name = withoutFolders(whole);
  if (name.length <= MAX_CHARACTERS || !name.includes("/")) return name;
  const cut = name.slice(-MAX_CHARACTERS);
  const slash = cut.indexOf("/");
  return `…${slash >= 0 && slash < cut.length / 2 ? cut.slice(slash) : cut}`;
}
