/** What the colours mean, and how many live bytes each has; a click hides what has one, or shows it again. */

import type { Actions } from "./actions";
import type { Colouring } from "./colouring";
import { make, write } from "./dom";
import { kept } from "./kept";
import { type LiveSet, sums } from "./live";
import { human } from "./numbers";
import type { Scene } from "./scene";
import { withoutFolders } from "./sources";
import { colourText, type Theme } from "./theme";

export interface Legend {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
}

export function createLegend(actions: Actions, scene: () => Scene): Legend {
  const label = "Colours; press to hide or show";
  const element = make("ul", { class: "legend", "aria-label": label, "data-list": "legend" });
  let drawn: { colouring: unknown; theme: unknown } | undefined;
  const ownedBy = kept((live: LiveSet, { of }: Colouring) => {
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
      const { colouring, live, state } = scene;
      if (drawn?.colouring !== colouring || drawn.theme !== theme) {
        drawn = { colouring, theme };
        element.replaceChildren(
          ...colouring.categories.map(({ name, colour }) => {
            const swatch = make("span", { class: "swatch" });
            swatch.style.backgroundColor = colourText(theme, colour);
            const label = make("span", { class: "label" }, ending(name));
            const entry = make("button", { type: "button", "data-category": name, title: name });
            entry.append(swatch, label, make("span", { class: "size" }));
            return make("li", {}, entry);
          }),
        );
      }
      const owned = ownedBy(live, colouring);
      element.querySelectorAll("button").forEach((entry, category) => {
        entry.setAttribute("aria-pressed", String(!state.hidden.includes(entry.dataset.category!)));
        write(entry.querySelector(".size")!, owned.has(category) ? human(owned.get(category)!) : "");
      });
    },
  };
}

const MOST_CHARACTERS = 44;

/** The end of an op_name, which tells most of it, or a source without its folders; the whole is in its title. */
function ending(whole: string): string {
  const name = withoutFolders(whole);
  if (name.length <= MOST_CHARACTERS || !name.includes("/")) return name;
  const cut = name.slice(-MOST_CHARACTERS);
  const slash = cut.indexOf("/");
  return `…${slash >= 0 && slash < cut.length / 2 ? cut.slice(slash) : cut}`;
}
