/** The toolbar above the plots. */

import { counted, grouped } from "../shared/numbers";
import { type Actions, ZOOM } from "./actions";
import { COLOR_NAMES, type ColorBy } from "./coloring";
import { button, choice, make, write } from "./dom";
import { allocationText, matchedText } from "./facts";
import { ALL, allocationsOf, MAIN } from "./layout";
import { memoizeLast } from "./memoize";
import { type Model, NONE } from "./model";
import type { Scene } from "./scene";

const COLOR_BY_CHANGE = Object.entries(COLOR_NAMES);
const COLOR_BY = COLOR_BY_CHANGE.filter(([by]) => by !== "change");

export function createToolbar(actions: Actions, help: () => void) {
  const [offeredSpaces, offeredAllocations] = [memoizeLast(spacesOf), memoizeLast(choicesOf)];
  const name = make("h1", {});
  const space = choice("Memory space", "space", (chosen) =>
    actions.change({ color: Number(chosen), allocation: MAIN, bytes: null, step: NONE }),
  );
  const allocation = choice("Allocation", "allocation", (chosen) =>
    actions.change({ allocation: Number(chosen), bytes: null }),
  );
  const colorBy = choice("Color by", "color-by", (chosen) =>
    actions.change({ colorBy: chosen as ColorBy, picked: null, isSolo: false }),
  );
  const title = "Search names, op_names, sources, /regex/, >1MiB";
  const [placeholder, spellcheck] = ["Search, >1MiB", "false"];
  const search = make("input", { type: "search", "data-control": "search", placeholder, title, spellcheck });
  search.addEventListener("input", () => actions.change({ search: search.value }));
  const count = make("output", { class: "count" });
  const problem = make("p", { class: "problem", role: "alert" });
  const incomplete = make("p", { class: "problem", role: "note" });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") search.blur();
    if (event.key !== "Enter") return;
    event.preventDefault();
    actions.moveToMatch(event.shiftKey ? -1 : 1);
  });
  const [previous, next] = [
    button("‹", "Previous match (Shift+Enter)", "previous-match", () => actions.moveToMatch(-1)),
    button("›", "Next match (Enter)", "next-match", () => actions.moveToMatch(1)),
  ];
  const matchButtons = make("span", { class: "buttons", role: "group", "aria-label": "Matches" }, previous, next);
  const label = make("label", {}, make("span", {}, "Search"), search);
  const searching = make("div", { class: "searching" }, label, matchButtons);
  const zoom = make(
    "span",
    { class: "buttons", role: "group", "aria-label": "Zoom", "data-group": "zoom" },
    button("−", "Zoom out (-)", "zoom-out", () => actions.zoomSteps(1 / ZOOM)),
    button("+", "Zoom in (+)", "zoom-in", () => actions.zoomSteps(ZOOM)),
    button("Reset", "Reset: show everything (0)", "reset", actions.reset),
    button("Peak", "Go to the real peak (P)", "peak", actions.moveToPeak),
    button("◨", "Show or hide the details and the live values (D)", "fold-side", () => actions.fold("side")),
    button("?", "Keys and gestures (?)", "help", help),
  );
  const choices = [space, allocation, colorBy].map(({ element }) => element);
  const element = make("header", { class: "toolbar" }, name, ...choices, searching, count, zoom, problem, incomplete);

  return {
    element,
    startSearch() {
      search.focus();
      search.select();
    },
    draw(scene: Scene): void {
      const { state, model, search: found } = scene;
      write(name, model.map.module || "Memory map");
      name.title = name.textContent;
      space.fill(offeredSpaces(model), String(scene.space.color));
      space.element.title = scene.space.headline;
      allocation.fill(offeredAllocations(model, scene.space.color), String(state.allocation));
      colorBy.fill(model.map.comparison ? COLOR_BY_CHANGE : COLOR_BY, scene.coloring.by);
      if (search.value !== state.search) search.value = state.search;
      const gap = model.map.incomplete;
      write(incomplete, gap && `Incomplete dump: ${gap}. Sizes with ≥ are lower bounds.`);
      write(problem, found.problem);
      search.setAttribute("aria-invalid", String(found.problem !== ""));
      previous.disabled = next.disabled = found.matches.length === 0;
      const index = found.matches.indexOf(state.selected);
      const at = index < 0 ? "" : `${grouped(index + 1)} of `;
      write(count, found.isOn ? at + matchedText(scene) : "");
    },
  };
}

function spacesOf(model: Model): [string, string][] {
  return model.map.spaces.map((space) => [String(space.color), `${space.name} ${space.needed}`]);
}

const MAX_ALLOCATIONS = 200;

/** What the list of allocations offers for a space: several at once, or one of the largest. */
function choicesOf(model: Model, color: number): [string, string][] {
  const rows = allocationsOf(model, color);
  const { index } = model.map.allocations;
  const largest = rows.slice(0, MAX_ALLOCATIONS);
  return [
    [String(MAIN), "main allocations"],
    [String(ALL), `all ${counted(rows.length, "allocation")}`],
    ...largest.map((row): [string, string] => [String(index[row]), allocationText(model, row).join(": ")]),
  ];
}
