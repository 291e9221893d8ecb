/** The choices above the pictures. */

import type { Actions } from "./actions";
import type { ColouredBy } from "./colouring";
import { button, choice, field, make, write } from "./dom";
import { allocationWords } from "./facts";
import { kept } from "./kept";
import { type Model, NONE, spaceName } from "./model";
import { counted, grouped, human } from "./numbers";
import type { Scene } from "./scene";

export interface Toolbar {
  element: HTMLElement;
  startSearch(): void;
  draw(scene: Scene): void;
}

const COLOURED_BY: [ColouredBy, string][] = [
  ["kind", "kind"],
  ["opName", "op_name"],
  ["source", "source"],
  ["padding", "padding"],
];
const MOST_ALLOCATIONS = 200;
const ZOOM = 1.5;

export function createToolbar(actions: Actions, help: () => void): Toolbar {
  const [offeredSpaces, offeredAllocations] = [kept(spacesOf), kept(allocationsOf)];
  const name = make("h1", {});
  const space = choice("Memory space", "space", (chosen) =>
    actions.change({ color: Number(chosen), allocation: NONE, bytes: null, upTo: null, step: NONE }),
  );
  const allocation = choice("Allocation", "allocation", (chosen) =>
    actions.change({ allocation: Number(chosen), bytes: null }),
  );
  const colours = choice("Colours", "colours", (chosen) =>
    actions.change({ colouredBy: chosen as ColouredBy, hidden: [] }),
  );
  const search = field("Search", "search", "name, op_name, source or /regex/", (search) => actions.change({ search }));
  const least = field("Least size", "least", "1 MiB", (least) => actions.change({ least }));
  const count = make("output", { class: "count", "data-matches": "" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  search.input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    actions.moveToMatch(event.shiftKey ? -1 : 1);
  });
  for (const input of [search.input, least.input]) {
    input.addEventListener("keydown", (event) => event.key === "Escape" && input.blur());
  }
  const matchButtons = make("span", { class: "buttons", role: "group", "aria-label": "Matches" });
  matchButtons.append(
    button("‹", "Previous match (Shift+Enter)", "previous-match", () => actions.moveToMatch(-1)),
    button("›", "Next match (Enter)", "next-match", () => actions.moveToMatch(1)),
  );
  const zoom = make("span", { class: "buttons", role: "group", "aria-label": "Zoom", "data-group": "zoom" });
  zoom.append(
    button("−", "Zoom out (-)", "zoom-out", () => actions.zoomSteps(1 / ZOOM)),
    button("+", "Zoom in (+)", "zoom-in", () => actions.zoomSteps(ZOOM)),
    button("Reset", "Reset: show all (0)", "reset", () => actions.reset()),
  );
  const peak = button("Peak", "Go to the true peak (P)", "peak", () => actions.moveToPeak());
  const element = make(
    "header",
    { class: "toolbar" },
    name,
    space.element,
    allocation.element,
    colours.element,
    search.element,
    matchButtons,
    count,
    least.element,
    zoom,
    peak,
    button("?", "Keys and gestures (?)", "help", help),
    problem,
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
      space.fill(offeredSpaces(model), String(scene.space.color));
      allocation.fill(offeredAllocations(model, scene.space.color, state.allocation), String(state.allocation));
      colours.fill(COLOURED_BY, state.colouredBy);
      if (search.input.value !== state.search) search.input.value = state.search;
      if (least.input.value !== state.least) least.input.value = state.least;
      const problems = [found.problem, scene.leastProblem].filter((words) => words !== "");
      write(problem, problems.join(". "));
      problem.hidden = problems.length === 0;
      search.input.setAttribute("aria-invalid", String(found.problem !== ""));
      least.input.setAttribute("aria-invalid", String(scene.leastProblem !== ""));
      matchButtons.hidden = count.hidden = !found.isOn;
      const place = found.matches.indexOf(state.selected);
      const matches = counted(found.matches.length, "match").replace("matchs", "matches");
      write(count, place < 0 ? matches : `${grouped(place + 1)} of ${matches}`);
      count.dataset.matches = String(found.matches.length);
    },
  };
}

function spacesOf(model: Model): [string, string][] {
  return model.map.spaces.map((space) => {
    const reserved = human(space.reservedBytes);
    const bytes = space.peakStep < 0 ? `${reserved} reserved` : `${human(space.peakLiveBytes)} of ${reserved}`;
    return [String(space.color), `${spaceName(space)}: ${bytes}`];
  });
}

/** The biggest allocations of a space, and the one that is shown. */
function allocationsOf(model: Model, spaceColor: number, shown: number): [string, string][] {
  const { color, sizeBytes } = model.map.allocations;
  const rows = sizeBytes.map((_, row) => row).filter((row) => color[row] === spaceColor);
  rows.sort((a, b) => sizeBytes[b]! - sizeBytes[a]! || a - b);
  const whole: [string, string] = [String(NONE), `all ${grouped(rows.length)} of the space`];
  const offered = rows.filter((row, place) => place < MOST_ALLOCATIONS || row === shown);
  return [whole, ...offered.map((row): [string, string] => [String(row), allocationWords(model, row).join(": ")])];
}
