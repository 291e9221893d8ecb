/** The keys of the page. Fields and tables handle letters and arrows themselves. */

import type { Actions } from "./actions";
import { NONE } from "./model";
import type { Scene } from "./scene";

export const KEYS: [keys: string, what: string][] = [
  ["← →", "previous or next step; with Shift 10 steps, with Ctrl the previous or next change of live bytes"],
  ["Page Up, Page Down", "100 steps back or forward"],
  ["Home, End", "first or last step"],
  ["P", "real peak"],
  ["↑ ↓", "previous or next value in the list of live values"],
  ["Enter", "go to the selected value in the editor; in the upper plot, to the step"],
  ["A", "go to the allocation of the selected value"],
  ["+ −", "zoom the steps; with Alt, the bytes"],
  ["0", "show everything"],
  ["/", "search; Enter and Shift+Enter select the next and the previous match"],
  ["Esc", "clear the selection"],
  ["?", "show this list"],
];

export const POINTER: [gesture: string, what: string][] = [
  ["Wheel", "zoom the steps; with Shift or Ctrl, the bytes"],
  ["Drag", "pan; with Shift, zoom to the frame"],
  ["Click", "go to the value; beside rectangles, to the allocation; in the upper plot, select the step"],
  ["Double click", "upper plot: go to the step in the editor; lower plot: show everything"],
];

interface OtherActions {
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
    case "ArrowUp":
      return () => actions.moveInList(-1);
    case "ArrowDown":
      return () => actions.moveInList(1);
    case "+":
    case "=":
      return () => zoom(ZOOM);
    case "-":
      return () => zoom(1 / ZOOM);
    case "0":
      return () => actions.reset();
    case "/":
      return () => others.search();
    case "?":
      return () => others.help();
    case "Escape":
      return () => actions.change({ selected: NONE, marked: NONE });
    case "Enter":
      return onEnter(scene, actions, target);
  }
  return undefined;
}

/** The action of Enter; none on a button, which handles it itself. */
function onEnter({ state, step }: Scene, actions: Actions, target: HTMLElement): (() => void) | undefined {
  if (target.closest("button")) return undefined;
  if (target.dataset.picture === "curve" || state.selected < 0) return () => actions.goToStep(step);
  return () => actions.goToValue(state.selected);
}
