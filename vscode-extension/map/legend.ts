/** The legend: the categories of the colors, with their live bytes. A click hides or shows a category. */

import { human } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import type { Coloring } from "./coloring";
import { make, write } from "./dom";
import { type LiveSet, sums } from "./live";
import { memoizeLast } from "./memoize";
import type { Scene } from "./scene";
import { cssColor, type Theme } from "./theme";

export interface Legend {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
}

export function createLegend(actions: Actions, scene: () => Scene): Legend {
  const label = "Colors; press one to hide or show its values";
  const element = make("ul", { class: "legend", "aria-label": label, "data-list": "legend" });
  let drawn: { coloring: unknown; theme: unknown } | undefined;
  const ownedBy = memoizeLast((live: LiveSet, { of }: Coloring) => {
    return new Map(sums(live, (value) => of[value]!).map(({ key, ownedBytes }) => [key, ownedBytes]));
  });
  element.addEventListener("click", (event) => {
    const name = (event.target as HTMLElement).closest<HTMLElement>("[data-category]")?.dataset.category;
    if (name === undefined) return;
    const { hidden } = scene().state;
    actions.change({
      hidden: hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name],
    });
  });
  return {
    element,
    draw(scene, theme) {
      const { coloring, live, state } = scene;
      if (drawn?.coloring !== coloring || drawn.theme !== theme) {
        drawn = { coloring, theme };
        element.replaceChildren(
          ...coloring.categories.map(({ name, color }) => {
            const swatch = make("span", { class: "swatch" });
            swatch.style.backgroundColor = cssColor(theme, color);
            const label = make("span", { class: "label" }, ending(name));
            const entry = make("button", { type: "button", "data-category": name, title: name });
            entry.append(swatch, label, make("span", { class: "size" }));
            return make("li", {}, entry);
          }),
        );
      }
      const owned = ownedBy(live, coloring);
      element.querySelectorAll("button").forEach((entry, category) => {
        entry.setAttribute("aria-pressed", String(!state.hidden.includes(entry.dataset.category!)));
        write(entry.querySelector(".size")!, owned.has(category) ? human(owned.get(category)!) : "");
      });
    },
  };
}

const MAX_CHARACTERS = 44;

/** The end of an op_name, its most specific part, or a source without its folders. The title has the whole name. */
function ending(whole: string): string {
  const name = withoutFolders(whole);
  if (name.length <= MAX_CHARACTERS || !name.includes("/")) return name;
  const cut = name.slice(-MAX_CHARACTERS);
  const slash = cut.indexOf("/");
  return `…${slash >= 0 && slash < cut.length / 2 ? cut.slice(slash) : cut}`;
}
