/** Panes that the reader resizes and folds, and the bars between them. */

import type { Actions } from "./actions";
import { make } from "./dom";
import type { Drawing } from "./scene";
import type { PaneName } from "./state";

/** What arrow keys resize, as a share of both panes. */
const KEY_SHARE = 0.05;
/** A pane that is dragged to a smaller share of the room is folded. */
const MIN_SHARE = 0.08;

/**
 * Create the bar that resizes a pane beside it: by dragging or with the arrow keys. A double click or Enter folds the pane,
 * and brings it back.
 */
export function createSplitter(name: PaneName, side: "before" | "after", label: string, actions: Actions): Drawing {
  const element = make("div", {
    class: "splitter",
    role: "separator",
    tabindex: 0,
    "aria-label": label,
    title: `${label}: drag; double-click to fold`,
    "data-splitter": name,
  });
  const isRow = () => getComputedStyle(element.parentElement!).flexDirection === "row";
  const resize = (share: number) => {
    const isFolded = share < MIN_SHARE;
    actions.fold(name, isFolded);
    if (!isFolded) actions.resize(name, Math.min(1 - MIN_SHARE, share));
  };
  element.addEventListener("pointerenter", () => {
    element.style.cursor = isRow() ? "col-resize" : "row-resize";
  });
  element.addEventListener("pointerdown", (event) => {
    if (event.button === 0) element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    const panes = [...element.parentElement!.querySelectorAll(":scope > :not(.splitter)")];
    const boxes = panes.map((pane) => pane.getBoundingClientRect()).filter(({ width }) => width > 0);
    const [start, end, at] = isRow()
      ? [Math.min(...boxes.map(({ left }) => left)), Math.max(...boxes.map(({ right }) => right)), event.clientX]
      : [Math.min(...boxes.map(({ top }) => top)), Math.max(...boxes.map(({ bottom }) => bottom)), event.clientY];
    const share = (at - start) / (end - start);
    resize(side === "before" ? share : 1 - share);
  });
  element.addEventListener("dblclick", () => actions.fold(name));
  element.addEventListener("keydown", (event) => {
    const arrows = isRow() ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const index = arrows.indexOf(event.key);
    if (event.key === "Enter") actions.fold(name);
    else if (index >= 0) {
      const direction = (index ? 1 : -1) * (side === "before" ? 1 : -1);
      resize(Number(element.getAttribute("aria-valuenow")) / 100 + direction * KEY_SHARE);
    } else return;
    event.preventDefault();
  });
  return {
    element,
    draw({ state: { panes, folded } }) {
      const [root, share] = [document.documentElement, panes[name]];
      if (share === undefined) root.style.removeProperty(`--${name}`);
      else root.style.setProperty(`--${name}`, String(share));
      element.parentElement?.classList.toggle(`without-${name}`, folded.includes(name));
      element.setAttribute("aria-valuenow", String(Math.round(100 * (folded.includes(name) ? 0 : (share ?? 0.4)))));
    },
  };
}
