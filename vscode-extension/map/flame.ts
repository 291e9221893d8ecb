/** The flame graph: calls as bars below their callers, as wide as the bytes that they lead to. */

import { changeText, counted, grouped, human, percent } from "../shared/numbers";
import { sourceLine, withoutFolders } from "../shared/sources";
import type { Actions } from "./actions";
import type { Details } from "./details";
import { make } from "./dom";
import type { Fact } from "./facts";
import { type Call, type Flame, flameOf, type Part, pathOf } from "./flameTree";
import { type LiveSet, liveAt } from "./live";
import { changes } from "./memoize";
import { NONE, ownStep } from "./model";
import type { Drawing, Scene } from "./scene";
import { cssColor, isLight, mixed, type Rgb, rgb, type Theme } from "./theme";

const ROW_HEIGHT = 20;
const MIN_WIDTH = 2;
/** A frame has the color of a category that has at least this share of its bytes. */
const MIN_COLOR_SHARE = 0.9;
/** Shares of background in the colors of values, and of frames that change little. */
const [VALUE_SHARE, LEAST_CHANGE_SHARE] = [0.35, 0.8];

/** What the graph shows. */
interface Shown {
  scene: Scene;
  theme: Theme;
  flame: Flame;
}

export function createFlame(actions: Actions, details: Details): Drawing {
  const element = make("div", { class: "flame", role: "group", "aria-label": "Flame graph of Python calls" });
  let frames: Call[] = [];
  let zoomed = "";
  let focused: string | undefined;
  let pressed: Call | undefined;
  const isNew = changes();
  let shown: Shown | undefined;

  const frameAt = (event: Event): Call | undefined => {
    const index = (event.target as HTMLElement).closest<HTMLElement>("[data-frame]")?.dataset.frame;
    return index === undefined ? undefined : frames[Number(index)];
  };
  const zoomTo = (frame: Call) => {
    zoomed = pathOf(frame);
    focused = element.contains(document.activeElement) ? zoomed : undefined;
    fill();
  };
  const open = (frame: Call) => {
    if (frame.value !== NONE) actions.goToValue(frame.value);
    else if (sourceLine(frame.name)) actions.openSource(frame.name);
  };
  const describe = (event: Event) => {
    const frame = frameAt(event);
    if (!frame || !shown) return;
    if (frame.value !== NONE) details.point({ value: frame.value });
    else details.point({ title: titleOf(frame, shown), facts: factsOf(frame, shown) });
  };
  element.addEventListener("pointerover", describe);
  element.addEventListener("focusin", describe);
  element.addEventListener("pointerleave", () => details.point(null));
  element.addEventListener("focusout", () => details.point(null));
  element.addEventListener("click", (event) => {
    // The first click of a double click zooms, so that the second one may be on another frame.
    if (event.detail > 1 && pressed) return open(pressed);
    pressed = frameAt(event);
    if (!pressed) return;
    if (pressed.value === NONE) zoomTo(pressed);
    else actions.select(pressed.value);
  });
  element.addEventListener("keydown", (event) => {
    const frame = frameAt(event);
    if (!frame) return;
    const beside = (by: number) => frame.caller?.callees[frame.caller.callees.indexOf(frame) + by];
    const next = {
      ArrowUp: () => frame.caller,
      ArrowDown: () => frame.callees[0],
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
    }[event.key];
    if (next) focus(next());
    else if (event.key.toLowerCase() === "l") open(frame);
    else if (event.key === "Escape" && zoomed) zoomTo(shown!.flame.root);
    else return;
    event.preventDefault();
  });

  function focus(frame: Call | null | undefined): void {
    const index = frame ? frames.indexOf(frame) : -1;
    element.querySelector<HTMLElement>(`[data-frame="${index}"]`)?.focus();
  }

  function fill(): void {
    if (!shown) return;
    const { flame } = shown;
    const width = element.clientWidth;
    frames = [];
    const bars: HTMLElement[] = [];
    const add = (frame: Call, left: number, share: number, row: number) => {
      const bar = barOf(frame, shown!);
      bar.dataset.frame = String(frames.push(frame) - 1);
      const [top, height] = [`${row * ROW_HEIGHT}px`, `${ROW_HEIGHT - 1}px`];
      Object.assign(bar.style, { left: `${100 * left}%`, width: `${100 * share}%`, top, height });
      bars.push(bar);
    };
    const path = chainTo(flame.root, zoomed);
    const top = path.at(-1)!;
    for (const [row, frame] of path.entries()) add(frame, 0, 1, row);
    const below = (caller: Call, left: number, row: number) => {
      for (const callee of caller.callees) {
        const share = callee.width / top.width;
        if (share * width < MIN_WIDTH) break;
        add(callee, left, share, row);
        below(callee, left, row + 1);
        left += share;
      }
    };
    if (top.width > 0) below(top, 0, path.length);
    element.replaceChildren(...bars);
    bars[path.length - 1]!.tabIndex = 0;
    if (focused !== undefined) focus(top);
    focused = undefined;
  }

  return {
    element,
    draw(scene, theme) {
      const { state, coloring, emphasis, other } = scene;
      const inputs = [...setsOf(scene), state.range?.join(), other?.coloring, state.selected, element.clientWidth];
      if (!isNew(coloring, emphasis, theme, ...inputs)) return;
      shown = { scene, theme, flame: flameOf(partsOf(scene)) };
      fill();
    },
  };
}

function isAtPeak({ state, space }: Scene): boolean {
  return state.step === NONE || state.step === space.peak_step;
}

/** The live values that the graph shows: of each dump at its peak, unless the reader chose another step. */
function setsOf(scene: Scene): LiveSet[] {
  const shown = scene.other ? [scene, scene.other] : [scene];
  return shown.map(({ peak, live }) => (isAtPeak(scene) ? peak : live));
}

/** What the graph compares: the ends of a range, two dumps, or nothing. */
function partsOf(scene: Scene): Part[] {
  const { state, model, space, other } = scene;
  const part = (scene: Scene, live: LiveSet, isAfter: boolean): Part => ({ scene, live, side: isAfter ? 1 : 0 });
  if (state.range) return state.range.map((step, side) => part(scene, liveAt(model, space.color, step), side > 0));
  const [front, back] = setsOf(scene);
  const isOld = model.map.comparison?.side === "old";
  return other ? [part(scene, front!, !isOld), part(other, back!, isOld)] : [part(scene, front!, true)];
}

/** The frames from the root to the one with a path, as far as they exist. */
function chainTo(root: Call, path: string): Call[] {
  const chain = [root];
  for (let at: Call | undefined = root; at; ) {
    at = at.callees.find((callee) => `${path}\n`.startsWith(`${pathOf(callee)}\n`));
    if (at) chain.push(at);
  }
  return chain;
}

function barOf(frame: Call, shown: Shown): HTMLElement {
  const { scene, theme, flame } = shown;
  const [before, after] = frame.bytes;
  const text = `${titleOf(frame, shown)} · ${flame.isDifference ? changeText(after - before) : human(after)}`;
  const bar = make("button", { type: "button", tabindex: -1, title: text, "aria-label": text }, text);
  if (frame.value !== NONE && frame.value === scene.state.selected) bar.setAttribute("aria-current", "true");
  const fill = frame.isFound ? fillOf(frame, scene, theme, flame) : undefined;
  if (fill)
    Object.assign(bar.style, { backgroundColor: `rgb(${fill.join()})`, color: isLight(fill) ? "#000" : "#fff" });
  bar.classList.toggle("faint", !frame.isFound);
  return bar;
}

/** The color of a frame: how it changed, else that of nearly all of its values; undefined if they have several. */
function fillOf(frame: Call, { coloring }: Scene, theme: Theme, { isDifference }: Flame): Rgb | undefined {
  const background = rgb(theme.background);
  const [before, after] = frame.bytes;
  if (isDifference) {
    if (before === after) return undefined;
    const strength = Math.abs(after - before) / Math.max(before, after);
    return mixed(rgb(after > before ? theme.over : theme.live), background, LEAST_CHANGE_SHARE * (1 - strength));
  }
  const [category, bytes] = [...frame.colors].reduce((most, one) => (one[1] > most[1] ? one : most), [NONE, 0]);
  if (bytes < MIN_COLOR_SHARE * after) return undefined;
  const full = rgb(cssColor(theme, coloring.categories[category]!.color));
  return frame.value === NONE ? full : mixed(full, background, VALUE_SHARE);
}

function titleOf(frame: Call, { scene }: Shown): string {
  if (frame.caller) return withoutFolders(frame.name);
  const { state, model, space, other } = scene;
  const at = (step: number) => grouped(ownStep(model, step));
  if (state.range) return `Steps ${at(state.range[0])} to ${at(state.range[1])}`;
  if (other) return `${space.name} ${isAtPeak(scene) ? "peaks" : "at the same step"}, old to new dump`;
  return `${isAtPeak(scene) ? `${space.name} peak, ` : ""}step ${at(scene.step)}`;
}

function factsOf(frame: Call, { flame }: Shown): Fact[] {
  const [before, after] = frame.bytes;
  const facts: Fact[] = flame.isDifference
    ? [
        ["before", `${human(before)} in ${counted(frame.counts[0], "buffer")}`],
        ["after", `${human(after)} in ${counted(frame.counts[1], "buffer")}`],
        ["change", changeText(after - before)],
      ]
    : [
        ["live", `${human(after)}, ${percent(after, flame.root.bytes[1])}`],
        ["buffers", grouped(frame.counts[1])],
      ];
  if (frame.caller) facts.push(["call", frame.name]);
  if (frame.caller?.caller) facts.push(["called from", withoutFolders(frame.caller.name)]);
  return facts;
}
