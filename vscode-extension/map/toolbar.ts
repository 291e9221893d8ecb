/** The toolbar above the plots. */

import { counted, grouped } from "../shared/numbers";
import type { Actions } from "./actions";
import type { ColorBy } from "./coloring";
import { button, choice, field, make, write } from "./dom";
import { allocationText, matchedText } from "./facts";
import { memoizeLast } from "./memoize";
import { type Model, NONE } from "./model";
import type { Scene } from "./scene";

export interface Toolbar {
  element: HTMLElement;
  startSearch(): void;
  draw(scene: Scene): void;
}

const COLOR_BY: [ColorBy, string][] = [
  ["kind", "kind"],
  ["opName", "op_name"],
  ["source", "source"],
  ["padding", "padding"],
];
const COLOR_BY_CHANGE: typeof COLOR_BY = [["change", "change"], ...COLOR_BY];
const MAX_ALLOCATIONS = 200;
const ZOOM = 1.5;

export function createToolbar(actions: Actions, help: () => void): Toolbar {
  const [offeredSpaces, offeredAllocations] = [memoizeLast(spacesOf), memoizeLast(allocationsOf)];
  const name = make("h1", {});
  const space = choice("Memory space", "space", (chosen) =>
    actions.change({ color: Number(chosen), allocation: NONE, bytes: null, curveTop: null, step: NONE }),
  );
  const allocation = choice("Allocation", "allocation", (chosen) =>
    actions.change({ allocation: Number(chosen), bytes: null }),
  );
  const colorBy = choice("Color by", "color-by", (chosen) =>
    actions.change({ colorBy: chosen as ColorBy, hidden: [], picked: null }),
  );
  const search = field("Search", "search", "Search names, op_names, sources, or /regex/", (search) =>
    actions.change({ search }),
  );
  const minSize = field("Minimum size", "min-size", "Min. size", (minSize) => actions.change({ minSize }));
  const count = make("output", { class: "count", "data-matches": "" });
  const incomplete = make("p", { class: "problem", role: "note", "data-name": "incomplete", hidden: true });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  search.input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    actions.moveToMatch(event.shiftKey ? -1 : 1);
  });
  for (const input of [search.input, minSize.input]) {
    input.addEventListener("keydown", (event) => event.key === "Escape" && input.blur());
  }
  const matchButtons = make("span", { class: "buttons", role: "group", "aria-label": "Matches" });
  const [previous, next] = [
    button("‹", "Previous match (Shift+Enter)", "previous-match", () => actions.moveToMatch(-1)),
    button("›", "Next match (Enter)", "next-match", () => actions.moveToMatch(1)),
  ];
  matchButtons.append(previous, next);
  const searching = make("div", { class: "searching" }, search.element, matchButtons);
  const zoom = make("span", { class: "buttons", role: "group", "aria-label": "Zoom", "data-group": "zoom" });
  zoom.append(
    button("−", "Zoom out (-)", "zoom-out", () => actions.zoomSteps(1 / ZOOM)),
    button("+", "Zoom in (+)", "zoom-in", () => actions.zoomSteps(ZOOM)),
    button("Reset", "Reset: show everything (0)", "reset", () => actions.reset()),
    button("Peak", "Go to the real peak (P)", "peak", () => actions.moveToPeak()),
    button("◨", "Show or hide the details and the live values (D)", "fold-side", () => actions.fold("side")),
    button("?", "Keys and gestures (?)", "help", help),
  );
  const element = make(
    "header",
    { class: "toolbar" },
    name,
    space.element,
    allocation.element,
    colorBy.element,
    searching,
    count,
    minSize.element,
    zoom,
    problem,
    incomplete,
  );

  return {
    element,
    startSearch() {
      search.input.focus();
      search.input.select();
    },
    draw(scene) {
      const { state, model, search: found } = scene;
      write(name, model.map.module || "Memory map");
      name.title = name.textContent;
      space.fill(offeredSpaces(model), String(scene.space.color));
      space.element.title = scene.space.headline;
      allocation.fill(offeredAllocations(model, scene.space.color, state.allocation), String(state.allocation));
      colorBy.fill(model.map.comparison ? COLOR_BY_CHANGE : COLOR_BY, scene.coloring.by);
      if (search.input.value !== state.search) search.input.value = state.search;
      if (minSize.input.value !== state.minSize) minSize.input.value = state.minSize;
      write(
        incomplete,
        model.map.incomplete && `Incomplete dump: ${model.map.incomplete}. Sizes with ≥ are lower bounds.`,
      );
      incomplete.hidden = model.map.incomplete === "";
      const problems = [found.problem, scene.minSizeProblem].filter((text) => text !== "");
      write(problem, problems.join(". "));
      problem.hidden = problems.length === 0;
      search.input.setAttribute("aria-invalid", String(found.problem !== ""));
      minSize.input.setAttribute("aria-invalid", String(scene.minSizeProblem !== ""));
      previous.disabled = next.disabled = found.matches.length === 0;
      const index = found.matches.indexOf(state.selected);
      const at = index < 0 ? "" : `${grouped(index + 1)} of `;
      write(count, found.isOn ? at + matchedText(scene) : "");
      count.dataset.matches = String(found.matches.length);
    },
  };
}

function spacesOf(model: Model): [string, string][] {
  return model.map.spaces.map((space) => [String(space.color), `${space.name} ${space.needed}`]);
}

/** The largest allocations of a space, and the one that is shown. */
function allocationsOf(model: Model, spaceColor: number, shown: number): [string, string][] {
  const { color, sizeBytes } = model.map.allocations;
  const rows = sizeBytes.map((_, row) => row).filter((row) => color[row] === spaceColor);
  rows.sort((a, b) => sizeBytes[b]! - sizeBytes[a]! || a - b);
  const whole: [string, string] = [String(NONE), `all ${counted(rows.length, "allocation")}`];
  const offered = rows.filter((row, index) => index < MAX_ALLOCATIONS || row === shown);
  return [whole, ...offered.map((row): [string, string] => [String(row), allocationText(model, row).join(": ")])];
}
