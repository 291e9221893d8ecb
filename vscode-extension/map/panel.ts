/** The side panel: the live values at the step of the cursor, largest first, and their sums by source. */

import { counted, grouped, human, percent } from "../shared/numbers";
import { withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import { UNKNOWN } from "./coloring";
import { make, write } from "./dom";
import { derivedPart, derivedSums, sums } from "./live";
import { instructionAt, NONE, ownStep, sourceText, stringAt, valueString } from "./model";
import { HIDDEN, SHOWN } from "./raster";
import type { Scene } from "./scene";
import { cssColor, type Theme } from "./theme";

export interface Panel {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
  /** Scrolls to the selected value with the next frame. Otherwise the panel stays where it is. */
  reveal(): void;
}

const ROWS_AT_ONCE = 50;
const MAX_SOURCES = 10;

export function createPanel(actions: Actions, details: HTMLElement): Panel {
  const title = make("h2", {});
  const total = make("p", { class: "total", "data-live-bytes": "" });
  const list = make("ol", { class: "live", "aria-label": "Live values, largest first", "data-list": "live" });
  const more = make("button", { type: "button", class: "more", "data-action": "more" });
  const sources = make("ol", { class: "sources", "aria-label": "Live bytes by source", "data-list": "sources" });
  const empty = make("p", { class: "empty" });
  const lists = make(
    "div",
    { class: "lists", role: "region", "aria-label": "Live at the step", tabindex: 0 },
    title,
    total,
    make("details", { open: true }, make("summary", {}, "By source"), sources),
    make("details", { open: true, class: "values" }, make("summary", {}, "By value"), empty, list, more),
  );
  const element = make("aside", { "aria-label": "Details and live values" }, details, lists);
  let isRevealing = false;
  let limit = ROWS_AT_ONCE;
  let drawn: { live: unknown; emphasis: unknown; limit: number; coloring: unknown; theme: unknown } | undefined;
  let redraw: () => void = () => undefined;
  more.addEventListener("click", () => {
    limit += ROWS_AT_ONCE;
    redraw();
  });
  list.addEventListener("click", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-value]");
    if (row) actions.select(Number(row.dataset.value));
  });
  list.addEventListener("dblclick", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-value]");
    if (row) actions.goToValue(Number(row.dataset.value));
  });
  const sourceAt = (event: Event) =>
    (event.target as HTMLElement).closest<HTMLElement>("[data-source]")?.dataset.source;
  sources.addEventListener("click", (event) => {
    const name = sourceAt(event);
    if (name !== undefined && event.detail <= 1) actions.pick({ by: "source", name });
  });
  sources.addEventListener("dblclick", (event) => {
    const name = sourceAt(event);
    if (name !== undefined && name !== UNKNOWN.source) actions.openSource(name);
  });

  return {
    element,
    draw(scene, theme) {
      redraw = () => {
        this.draw(scene, theme);
      };
      const { live, emphasis, model, step, coloring } = scene;
      const shown = live.values.filter((value) => emphasis[value] === SHOWN || (emphasis[value] && !scene.search.isOn));
      const index = shown.indexOf(scene.state.selected);
      if (drawn?.live !== live) limit = ROWS_AT_ONCE;
      if (index >= limit) limit = index + 1;
      const isSame =
        drawn &&
        drawn.live === live &&
        drawn.emphasis === emphasis &&
        drawn.limit === limit &&
        drawn.coloring === coloring &&
        drawn.theme === theme;
      if (!isSame) {
        drawn = { live, emphasis, limit, coloring, theme };
        const instruction = instructionAt(model, step);
        write(title, `Step ${grouped(ownStep(model, step))}${instruction ? `: ${instruction}` : ""}`);
        title.title = instruction;
        write(total, `${human(scene.liveBytes)} live in ${counted(live.values.length, "value")}`);
        total.dataset.liveBytes = String(scene.liveBytes);
        drawSources(sources, scene, theme);
        list.replaceChildren(...shown.slice(0, limit).map((value) => rowOf(scene, theme, value)));
        more.hidden = shown.length <= limit;
        write(more, `${grouped(shown.length - limit)} more`);
        write(empty, emptyText(scene, shown.length));
        empty.hidden = empty.textContent === "";
      }
      for (const row of sources.querySelectorAll("button")) {
        const { picked } = scene.state;
        const isPicked = picked?.by === "source" && picked.name === row.dataset.source;
        row.setAttribute("aria-pressed", String(isPicked));
      }
      mark(list, scene.state.selected, isRevealing);
      isRevealing = false;
    },
    reveal() {
      isRevealing = true;
    },
  };
}

function emptyText({ live, model, emphasis }: Scene, shown: number): string {
  if (!live.values.length) {
    return model.isPlaced.includes(1) ? "Nothing is live here." : "No value with bytes has a live range.";
  }
  if (shown === live.values.length) return "";
  const cause = live.values.some((value) => emphasis[value] === HIDDEN) ? "filter" : "search";
  return `Shows ${grouped(shown)} of ${counted(live.values.length, "value")}; the ${cause} hides the others.`;
}

function rowOf({ model, liveBytes, coloring }: Scene, theme: Theme, value: number): HTMLElement {
  const swatch = make("span", { class: "swatch" });
  swatch.style.backgroundColor = cssColor(theme, coloring.categories[coloring.of[value]!]!.color);
  const size = model.size[value]!;
  const [label, shape] = [valueString(model, "label", value), valueString(model, "shape", value)];
  const [opName, source] = [sourceText(model, "opName", value), sourceText(model, "source", value)];
  const about = [opName, withoutFolders(source)].filter((text) => text !== "");
  const row = make(
    "button",
    { type: "button", "data-value": value, title: [label, shape, opName, source].filter(Boolean).join("\n") },
    swatch,
    make("span", { class: "label" }, label),
    make("span", { class: "size" }, human(size)),
    make("span", { class: "about shape" }, shape),
    make("span", { class: "share" }, percent(size, liveBytes)),
    ...about.map((text) => make("span", { class: "about" }, text)),
  );
  return make("li", {}, row);
}

function drawSources(list: HTMLElement, { model, live, liveBytes, coloring }: Scene, theme: Theme): void {
  const bySource = sums(live, (value) => model.map.values.source[value] ?? NONE);
  const colorOf = (name: string) => {
    if (coloring.by !== "source") return "";
    const { categories } = coloring;
    const category = categories.find((one) => one.name === name) ?? categories.find(({ color }) => color === "other");
    return category ? cssColor(theme, category.color) : "";
  };
  const cells = (text: string, name: string, bytes: number) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${liveBytes ? (100 * bytes) / liveBytes : 0}%`;
    bar.style.backgroundColor = colorOf(name);
    return [
      make("span", { class: "label" }, withoutFolders(text)),
      make("span", { class: "track" }, bar),
      make("span", { class: "size" }, human(bytes)),
      make("span", { class: "share" }, percent(bytes, liveBytes)),
    ];
  };
  const derived = derivedSums(model, live, (value) => model.map.values.source[value] ?? NONE);
  const rows = bySource.slice(0, MAX_SOURCES).map(({ key, ownedBytes }) => {
    const source = stringAt(model, key) || UNKNOWN.source;
    const text = source + (key === NONE ? "" : derivedPart(derived.get(key), ownedBytes));
    const press = { type: "button", "data-source": source, title: text };
    return make("li", { "data-bytes": ownedBytes }, make("button", press, ...cells(text, source, ownedBytes)));
  });
  const rest = bySource.slice(MAX_SOURCES);
  const restBytes = rest.reduce((sum, { ownedBytes }) => sum + ownedBytes, 0);
  const text = counted(rest.length, "other source");
  const others = make("div", { class: "row" }, ...cells(text, "", restBytes));
  if (rest.length) rows.push(make("li", { "data-bytes": restBytes, title: text }, others));
  list.replaceChildren(...rows);
}

/** Whether an element scrolls by itself, and not with the plots as in narrow windows. */
function isScroller(element: Element): boolean {
  return getComputedStyle(element).overflowY === "auto";
}

/** Marks the row of the selected value, and scrolls to it if that is asked for. */
function mark(list: HTMLElement, value: number, isRevealing: boolean): void {
  const before = list.querySelector("[aria-current]");
  const now = list.querySelector(`[data-value="${value}"]`);
  if (before !== now) {
    before?.removeAttribute("aria-current");
    now?.setAttribute("aria-current", "true");
  }
  if (isRevealing && isScroller(list.closest(".lists")!)) now?.scrollIntoView({ block: "nearest" });
}
