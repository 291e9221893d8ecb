/** The keys of the page, and the dialog that lists them. Fields handle letters and arrows themselves. */

import { type Actions, ZOOM } from "./actions";
import { make, pressable } from "./dom";
import { sourceOf } from "./facts";
import { NONE } from "./model";
import type { Scene } from "./scene";

interface Press {
  event: KeyboardEvent;
  scene: Scene;
  actions: Actions;
  page: OtherActions;
}

interface OtherActions {
  /** Scrolls to the selected value in the list of live values. */
  revealInList(): void;
  search(): void;
  /** Shows the flame graph and moves the focus into it, or shows the rectangles again. */
  toggleFlame(): void;
  help(): void;
}

/** The keys: their names in the dialog, their values of `KeyboardEvent.key`, a description, and what they do. */
const KEYS: [name: string, keys: string[], what: string, act: (press: Press) => void][] = [
  [
    "← →",
    ["ArrowLeft", "ArrowRight"],
    "previous or next step; with Shift 10 steps, with Ctrl the previous or next change of live bytes",
    ({ event, actions }) => {
      const direction = event.key === "ArrowLeft" ? -1 : 1;
      if (event.ctrlKey || event.metaKey) actions.moveToChange(direction);
      else actions.moveStep(direction * (event.shiftKey ? 10 : 1));
    },
  ],
  ["Page Up", ["PageUp"], "100 steps back", ({ actions }) => actions.moveStep(-100)],
  ["Page Down", ["PageDown"], "100 steps forward", ({ actions }) => actions.moveStep(100)],
  ["Home", ["Home"], "first step", ({ actions }) => actions.setStep(0)],
  ["End", ["End"], "last step", ({ actions, scene }) => actions.setStep(scene.model.stepCount - 1)],
  ["P", ["p"], "real peak", ({ actions }) => actions.moveToPeak()],
  [
    "↑ ↓",
    ["ArrowUp", "ArrowDown"],
    "previous or next value in the list of live values",
    ({ event, actions, page }) => {
      actions.moveInList(event.key === "ArrowUp" ? -1 : 1);
      page.revealInList();
    },
  ],
  [
    "N",
    ["n"],
    "next match, or next value of the picked color; with Shift, the previous one",
    ({ event, actions }) => actions.moveToMatch(event.shiftKey ? -1 : 1),
  ],
  ["Enter", ["Enter"], "go to the selected value in the editor; in the upper plot, to the step", goTo],
  [
    "A",
    ["a"],
    "go to the allocation of the selected value",
    ({ actions, scene }) => actions.goToAllocation(scene.model.allocation[scene.state.selected] ?? NONE),
  ],
  ["L", ["l"], "open the source line of the selection", ({ actions, scene }) => actions.openSource(sourceOf(scene))],
  [
    "B E",
    ["b", "e"],
    "show what changes from this step to the end (B), or to this step (E); each moves its end of the range",
    ({ event, actions }) => actions.boundRange(event.key.toLowerCase() === "b"),
  ],
  ["F", ["f"], "show the flame graph, or the rectangles again", ({ page }) => page.toggleFlame()],
  ["S", ["s"], "show only the picked color, or all again", ({ actions }) => actions.solo()],
  ["+", ["+", "="], "zoom in on the steps; with Alt, on the bytes", (press) => zoom(press, ZOOM)],
  ["−", ["-"], "zoom out", (press) => zoom(press, 1 / ZOOM)],
  ["0", ["0"], "show everything", ({ actions }) => actions.reset()],
  ["D", ["d"], "show or hide the details and the live values", ({ actions }) => actions.fold("side")],
  ["/", ["/"], "search; Enter and Shift+Enter select the next and the previous match", ({ page }) => page.search()],
  ["Esc", ["Escape"], "clear the selection, then the picked color, then the range", ({ actions }) => actions.clear()],
  ["?", ["?"], "show this list", ({ page }) => page.help()],
];

const POINTER: [gesture: string, what: string][] = [
  ["Wheel", "zoom the steps; with Shift or Ctrl, the bytes"],
  ["Drag", "in the upper plot, show what changes between two steps; elsewhere pan"],
  ["Click", "select the value, the allocation or the step; in the legend, a color; in the flame graph, zoom"],
  ["Double click", "go there in the editor; in the legend and the flame graph, to the source line"],
];

export function listenToKeys(scene: () => Scene | null, actions: Actions, page: OtherActions): void {
  document.addEventListener("keydown", (event) => {
    const now = scene();
    const target = event.target as HTMLElement;
    if (!now || event.defaultPrevented || target.closest("input, select, dialog")) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const [, , , act] = KEYS.find(([, keys]) => keys.includes(name)) ?? [];
    const isOther = (event.ctrlKey || event.metaKey) && !["ArrowLeft", "ArrowRight"].includes(name);
    // A button handles Enter itself, except in the list of live values.
    const isOfButton = name === "Enter" && target.closest("button:not([data-value])");
    if (!act || isOther || isOfButton) return;
    event.preventDefault();
    act({ event, scene: now, actions, page });
  });
}

function zoom({ event, actions }: Press, factor: number): void {
  if (event.altKey) actions.zoomBytes(factor);
  else actions.zoomSteps(factor);
}

function goTo({ event, actions, scene: { state, step } }: Press): void {
  const { value, picture } = (event.target as HTMLElement).dataset;
  if (value !== undefined) actions.goToValue(Number(value));
  else if (picture === "curve" || state.selected < 0) actions.goToStep(step);
  else actions.goToValue(state.selected);
}

/** Create the dialog that lists keys and gestures. */
export function createHelp(): HTMLDialogElement {
  const dialog = make("dialog", { class: "help", "aria-labelledby": "help-title" });
  const close = pressable(() => dialog.close(), { "data-action": "close-help" }, "Close");
  const keys = KEYS.map(([name, , what]) => [name, what] as const);
  const rows = [...keys, ...POINTER].flatMap(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]);
  const title = make("h2", { id: "help-title", tabindex: -1 }, "Keys and gestures");
  dialog.append(title, make("dl", {}, ...rows), close);
  return dialog;
}

/** Show the dialog from its top: what has the focus is scrolled into view, which would be the button at the end. */
export function showHelp(help: HTMLDialogElement): void {
  help.showModal();
  help.querySelector("h2")?.focus();
}
