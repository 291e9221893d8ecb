/**
 * The legend: the colors in the plot, with their live bytes. A click picks the values of a color, and a double click on a
 * source opens its line. Hidden colors come back with a click.
 */

import { human, percent } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import { type Coloring, UNKNOWN } from "./coloring";
import { make, write } from "./dom";
import type { Layout } from "./layout";
import { derivedPart, derivedSums, type LiveSet, sums } from "./live";
import { memoizeLast } from "./memoize";
import type { Model } from "./model";
import type { Scene } from "./scene";
import { cssColor, type Theme } from "./theme";

export interface Legend {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
}

export function createLegend(actions: Actions, scene: () => Scene): Legend {
  const label = "Colors; press one to pick its values";
  const element = make("ul", { class: "legend", "aria-label": label, "data-list": "legend" });
  let drawn: { coloring: unknown; layout: unknown; theme: unknown } | undefined;
  const ownedBy = memoizeLast((live: LiveSet, { of }: Coloring) => {
    return new Map(sums(live, (value) => of[value]!).map(({ key, ownedBytes }) => [key, ownedBytes]));
  });
  const derivedBy = memoizeLast((model: Model, live: LiveSet, { of }: Coloring) => {
    return derivedSums(model, live, (value) => of[value]!);
  });
  const categoryAt = (event: Event) =>
    (event.target as HTMLElement).closest<HTMLElement>("[data-category]")?.dataset.category;
  element.addEventListener("click", (event) => {
    const name = categoryAt(event);
    // The second click of a double click changes nothing.
    if (name === undefined || event.detail > 1) return;
    const { hidden, colorBy } = scene().state;
    if (hidden.includes(name)) actions.toggle(name);
    else actions.pick({ by: colorBy, name });
  });
  element.addEventListener("dblclick", (event) => {
    const name = categoryAt(event);
    if (name !== undefined && name !== UNKNOWN.source && scene().state.colorBy === "source") actions.openSource(name);
  });
  return {
    element,
    draw(scene, theme) {
      const { model, coloring, live, liveBytes, layout, state, other } = scene;
      if (drawn?.coloring !== coloring || drawn.layout !== layout || drawn.theme !== theme) {
        drawn = { coloring, layout, theme };
        const used = usedIn(layout, coloring);
        // The colors of what happened to values are the same in both dumps of a comparison.
        if (other && coloring.by === "change") for (const one of usedIn(other.layout, other.coloring)) used.add(one);
        element.replaceChildren(
          ...coloring.categories.flatMap(({ name, color }, category) => {
            if (!used.has(category)) return [];
            const swatch = make("span", { class: "swatch" });
            swatch.style.backgroundColor = cssColor(theme, color);
            const label = make("span", { class: "label" }, ending(name));
            const entry = make("button", { type: "button", "data-category": name });
            entry.dataset.number = String(category);
            entry.append(swatch, label, make("span", { class: "size" }));
            return make("li", {}, entry);
          }),
        );
      }
      const owned = ownedBy(live, coloring);
      const derived = derivedBy(model, live, coloring);
      for (const entry of element.querySelectorAll("button")) {
        const name = entry.dataset.category!;
        const bytes = owned.get(Number(entry.dataset.number));
        const isPicked = state.picked?.by === coloring.by && state.picked.name === name;
        entry.setAttribute("aria-pressed", String(isPicked));
        entry.classList.toggle("hidden", state.hidden.includes(name));
        const size = bytes === undefined ? "" : `${human(bytes)} · ${percent(bytes, liveBytes)}`;
        const isSource = coloring.by === "source" && name !== UNKNOWN.source;
        entry.title = name + (isSource ? derivedPart(derived.get(Number(entry.dataset.number)), bytes ?? 0) : "");
        write(entry.querySelector(".size")!, state.hidden.includes(name) ? "hidden" : size);
      }
    },
  };
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
