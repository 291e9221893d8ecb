/** The side panel: the details, the legend, and the live values at the step of the cursor, largest first. */

import { counted, grouped, human, percent } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import { rangeElements } from "./between";
import { make, named, onPress, pressable, swatch, write } from "./dom";
import { changes } from "./memoize";
import { instructionAt, ownStep, pathOf, sourceText, valueString } from "./model";
import { SHOWN } from "./raster";
import type { Scene } from "./scene";
import { createSplitter } from "./splitter";
import { cssColor, type Theme } from "./theme";

const ROWS_AT_ONCE = 50;

export function createPanel(actions: Actions, details: HTMLElement, legend: HTMLElement) {
  const title = make("h2", {});
  const total = make("p", { class: "total" });
  const list = make("ol", { class: "live", "aria-label": "Live values, largest first", "data-list": "live" });
  const showMore = () => {
    limit += ROWS_AT_ONCE;
    redraw();
  };
  const more = pressable(showMore, { class: "more", "data-action": "more" });
  const empty = make("p", { class: "empty" });
  const atStep = make(
    "div",
    {},
    ...[title, total, legend],
    make("details", { open: true, class: "values" }, make("summary", {}, "By value"), empty, list, more),
  );
  const inRange = make("div", {});
  const lists = make("div", { class: "lists", role: "region", tabindex: 0 }, atStep, inRange);
  const splitter = createSplitter("details", "before", "Resize the details", actions);
  const element = make("aside", { "aria-label": "Details and live values" }, details, splitter.element, lists);
  let isRevealing = false;
  let limit = ROWS_AT_ONCE;
  const [isNewStep, isNewList, isNewRange] = [changes(), changes(), changes()];
  let redraw: () => void = () => undefined;
  onPress(list, "value", (row, isDouble) => (isDouble ? actions.goToValue : actions.select)(Number(row)));
  return {
    element,
    draw(scene: Scene, theme: Theme): void {
      redraw = () => this.draw(scene, theme);
      const { live, emphasis, model, step, coloring } = scene;
      const shown = live.values.filter((value) => emphasis[value] === SHOWN);
      const index = shown.indexOf(scene.state.selected);
      limit = Math.max(isNewStep(live) ? ROWS_AT_ONCE : limit, index + 1);
      if (isNewList(live, emphasis, limit, coloring, theme)) {
        const instruction = instructionAt(model, step);
        write(title, `Step ${grouped(ownStep(model, step))}${instruction && `: ${instruction}`}`);
        title.title = instruction;
        write(total, `${human(scene.liveBytes)} live in ${counted(live.values.length, "value")}`);
        list.replaceChildren(...shown.slice(0, limit).map((value) => rowOf(scene, theme, value)));
        more.hidden = shown.length <= limit;
        write(more, `${grouped(shown.length - limit)} more`);
        write(empty, emptyText(scene, shown.length));
      }
      splitter.draw(scene, theme);
      const { range } = scene.state;
      lists.setAttribute("aria-label", range ? "Changes in the range" : "Live at the step");
      atStep.hidden = range !== null;
      inRange.hidden = range === null;
      if (isNewRange(range?.join(), coloring, scene.space, theme) && range) {
        inRange.replaceChildren(...rangeElements(scene, actions, theme));
      }
      mark(list, scene.state.selected, isRevealing);
      isRevealing = false;
    },
    /** Scrolls to the selected value with the next frame. Otherwise the panel stays where it is. */
    reveal() {
      isRevealing = true;
    },
  };
}

function emptyText({ live, model }: Scene, shown: number): string {
  if (!live.values.length) {
    return model.isPlaced.includes(1) ? "Nothing is live here." : "No value with bytes has a live range.";
  }
  if (shown === live.values.length) return "";
  return `Shows ${grouped(shown)} of ${counted(live.values.length, "value")}; the search hides the others.`;
}

function rowOf({ model, liveBytes, coloring }: Scene, theme: Theme, value: number): HTMLElement {
  const size = model.size[value]!;
  const [name, shape] = [valueString(model, "label", value), valueString(model, "shape", value)];
  const label = pathOf(model, value) || name;
  const [opName, source] = [sourceText(model, "op_name", value), sourceText(model, "source", value)];
  const about = [label === name ? opName : name, withoutFolders(source)].filter((text) => text !== "");
  const row = make(
    "button",
    { type: "button", "data-value": value, title: [name, shape, opName, source].filter(Boolean).join("\n") },
    swatch(cssColor(theme, coloring.categories[coloring.of[value]!]!.color)),
    make("span", { class: "label" }, label),
    make("span", { class: "size" }, human(size)),
    make("span", { class: "about shape" }, shape),
    make("span", { class: "share" }, percent(size, liveBytes)),
    ...about.map((text) => named(text, "about")),
  );
  return make("li", {}, row);
}

/** Marks the row of the selected value, and scrolls to it if that is asked for. */
function mark(list: HTMLElement, value: number, isRevealing: boolean): void {
  const before = list.querySelector("[aria-current]");
  const now = list.querySelector(`[data-value="${value}"]`);
  if (before !== now) {
    before?.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "true");
  }
  if (isRevealing) now?.scrollIntoView({ block: "nearest" });
}
