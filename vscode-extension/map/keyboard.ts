/** The keys of the page. Fields and tables handle letters and arrows themselves. */

import type { Actions } from "./actions";
import { sourceOf } from "./facts";
import { NONE } from "./model";
import type { Scene } from "./scene";

export const KEYS: [keys: string, what: string][] = [
  ["← →", "previous or next step; with Shift 10 steps, with Ctrl the previous or next change of live bytes"],
  ["Page Up, Page Down", "100 steps back or forward"],
  ["Home, End", "first or last step"],
  ["P", "real peak"],
  ["↑ ↓", "previous or next value in the list of live values"],
  ["N", "next match, or next value of the picked color; with Shift, the previous one"],
  ["Enter", "go to the selected value in the editor; in the upper plot, to the step"],
  ["A", "go to the allocation of the selected value"],
  ["L", "open the source line of the selected value or of the picked color"],
  ["S, H", "show only the picked color, or all again; hide it"],
  ["+ −", "zoom the steps; with Alt, the bytes"],
  ["0", "show everything"],
  ["D", "show or hide the details and the live values"],
  ["/", "search; Enter and Shift+Enter select the next and the previous match"],
  ["Esc", "clear the selection, then the picked color, then the range"],
  ["?", "show this list"],
];

export const POINTER: [gesture: string, what: string][] = [
  ["Wheel", "zoom the steps; with Shift or Ctrl, the bytes"],
  ["Drag", "in the upper plot, show what changes between two steps; elsewhere pan; with Shift, zoom to the frame"],
  [
    "Click",
    "select the value; beside rectangles, its allocation; in the upper plot, the step; in the legend, a color; in the flame graph, zoom",
  ],
  [
    "Double click",
    "go to the value, the allocation or the step in the editor; in the legend and the flame graph, to the source line",
  ],
];

interface OtherActions {
  /** Scrolls to the selected value in the list of live values. */
  revealInList(): void;
  search(): void;
  help(): void;
}

const ZOOM = 1.5;

export function listenToKeys(scene: () => Scene | null, actions: Actions, others: OtherActions): void {
  document.addEventListener("keydown", (event) => {
    const now = scene();
    const target = event.target as HTMLElement;
    if (!now || event.defaultPrevented || target.closest("input, select, textarea, dialog, .table")) return;
    const act = actionOf(event, now, actions, others, target);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actionOf(
  event: KeyboardEvent,
  scene: Scene,
  actions: Actions,
  others: OtherActions,
  target: HTMLElement,
): (() => void) | undefined {
  const isOther = event.ctrlKey || event.metaKey;
  const last = scene.model.stepCount - 1;
  const move = (direction: 1 | -1) => {
    if (isOther) actions.moveToChange(direction);
    else actions.moveStep(direction * (event.shiftKey ? 10 : 1));
  };
  const zoom = (factor: number) => (event.altKey ? actions.zoomBytes(factor) : actions.zoomSteps(factor));
  switch (event.key) {
    case "ArrowLeft":
      return () => move(-1);
    case "ArrowRight":
      return () => move(1);
  }
  if (isOther) return undefined;
  switch (event.key) {
    case "PageUp":
      return () => actions.moveStep(-100);
    case "PageDown":
      return () => actions.moveStep(100);
    case "Home":
      return () => actions.setStep(0);
    case "End":
      return () => actions.setStep(last);
    case "p":
    case "P":
      return () => actions.moveToPeak();
    case "a":
    case "A":
      return () => actions.goToAllocation(scene.model.allocation[scene.state.selected] ?? NONE);
    case "n":
    case "N":
      return () => actions.moveToMatch(event.shiftKey ? -1 : 1);
    case "l":
    case "L":
      return () => actions.openSource(sourceOf(scene));
    case "s":
    case "S":
      return onCategory(scene, target, actions.solo);
    case "h":
    case "H":
      return onCategory(scene, target, actions.toggle);
    case "ArrowUp":
      return () => {
        actions.moveInList(-1);
        others.revealInList();
      };
    case "ArrowDown":
      return () => {
        actions.moveInList(1);
        others.revealInList();
      };
    case "+":
    case "=":
      return () => zoom(ZOOM);
    case "-":
      return () => zoom(1 / ZOOM);
    case "0":
      return () => actions.reset();
    case "d":
    case "D":
      return () => actions.fold("side");
    case "/":
      return () => others.search();
    case "?":
      return () => others.help();
    case "Escape":
      return () => actions.clear();
    case "Enter":
      return onEnter(scene, actions, target);
  }
  return undefined;
}

/** An action on the color that has the focus in the legend, or else on the picked one. */
function onCategory(
  { state, coloring }: Scene,
  target: HTMLElement,
  act: (category: string) => void,
): (() => void) | undefined {
  const picked = state.picked?.by === coloring.by ? state.picked.name : undefined;
  const category = target.dataset.category ?? picked;
  return category === undefined ? undefined : () => act(category);
}

/** The action of Enter; none on a button, which handles it itself, except in the list of live values. */
function onEnter({ state, step }: Scene, actions: Actions, target: HTMLElement): (() => void) | undefined {
  const listed = target.closest<HTMLElement>("[data-value]")?.dataset.value;
  if (listed !== undefined) return () => actions.goToValue(Number(listed));
  if (target.closest("button")) return undefined;
  if (target.dataset.picture === "curve" || state.selected < 0) return () => actions.goToStep(step);
  return () => actions.goToValue(state.selected);
}
