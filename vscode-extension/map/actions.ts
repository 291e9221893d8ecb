/** The actions of the user, by pointer or by key. Only actions send messages to the host; following its cursor does not. */

import type { MessageFromMap } from "../shared/messages";
import type { WhatIsAt } from "../shared/protocol";
import { NONE, nextChange } from "./model";
import type { Picked } from "./picked";
import { framed, panned, type Range, revealing, unlessWhole, zoomed } from "./range";
import type { Scene } from "./scene";
import { INITIAL, type PaneName, type State } from "./state";

export interface Actions {
  change(change: Partial<State>): void;
  setStep(step: number): void;
  moveStep(by: number): void;
  /** Moves to the next or the previous step at which the live bytes change. */
  moveToChange(direction: 1 | -1): void;
  moveToPeak(): void;
  /** Selects a value, brings it into view, and moves the cursor to a step at which it is live. */
  select(value: number): void;
  /** Makes the values of a group stand out, or those of all groups again. */
  pick(picked: Picked): void;
  /** Hides all colors but one, or shows all again. */
  solo(category: string): void;
  /** Hides or shows a color. */
  toggle(category: string): void;
  /** Selects the next or the previous value in the list of live values. */
  moveInList(direction: 1 | -1): void;
  /** Selects the next or the previous match of the search. */
  moveToMatch(direction: 1 | -1): void;
  goToValue(value: number): void;
  goToStep(step: number): void;
  goToAllocation(allocation: number): void;
  /** Goes to the instruction of a value in the HLO module. */
  goToInstruction(value: number): void;
  /** Opens a source line, as the map names it. */
  openSource(source: string): void;
  /** Marks an allocation. */
  mark(allocation: number): void;
  /** Clears the selection, or else the picked group, or else the range. */
  clear(): void;
  /** Asks what happens between two steps. */
  compareSteps(from: number, to: number): void;
  /** Folds a pane or unfolds it; by default the other way than it is. */
  fold(pane: PaneName, isFolded?: boolean): void;
  resize(pane: PaneName, share: number): void;
  showSteps(steps: Range): void;
  showBytes(bytes: Range): void;
  zoomSteps(factor: number, at?: number): void;
  zoomBytes(factor: number, at?: number): void;
  pan(steps: number, bytes: number): void;
  reset(): void;
  /** Selects the value, allocation or step at the cursor of the text. */
  follow(at: WhatIsAt): void;
  /** Makes the values of the source line at the cursor stand out. */
  light(name: string, values: number[]): void;
}

/** Zooming in stops at this many steps and bytes. */
const MIN_STEPS = 4;
const MIN_BYTES = 16;

export function actionsOn(
  scene: () => Scene,
  change: (change: Partial<State>) => void,
  post: (message: MessageFromMap) => void,
): Actions {
  const stepsInView = (steps: Range) => ({ steps: unlessWhole(steps, scene().allSteps) });
  const bytesInView = (bytes: Range) => ({ bytes: unlessWhole(bytes, scene().allBytes) });
  const revealStep = (step: number) => stepsInView(revealing(scene().steps, step - 0.5, step + 0.5, scene().allSteps));

  const actions: Actions = {
    change,
    setStep(step) {
      const inside = Math.max(0, Math.min(scene().model.stepCount - 1, Math.round(step)));
      change({ step: inside, ...revealStep(inside) });
    },
    moveStep: (by) => actions.setStep(scene().step + by),
    moveToChange: (direction) => actions.setStep(nextChange(scene().space, scene().step, direction)),
    moveToPeak: () => actions.setStep(Math.max(0, scene().space.peakStep)),
    select(value) {
      if (value === NONE) {
        change({ selected: NONE });
        return;
      }
      const { model, layout, space } = scene();
      if (layout.foldable.has(model.allocation[value]!)) change({ isFolded: false });
      if (model.color[value] !== NONE && model.color[value] !== space.color) {
        change({ color: model.color[value]!, allocation: NONE, bytes: null });
      } else if (layout.boxOf[value] === NONE) change({ allocation: NONE, bytes: null });
      const [start, end] = [model.start[value]!, model.end[value]!];
      const step = model.isPlaced[value] ? Math.max(start, Math.min(end, scene().step)) : scene().step;
      change({ selected: value, step, ...revealBox(scene(), value) });
    },
    pick(picked) {
      const before = scene().state.picked;
      const isSame = before?.by === picked.by && before.name === picked.name;
      change({ picked: isSame ? null : picked, selected: NONE, marked: NONE });
    },
    solo(category) {
      const others = scene()
        .coloring.categories.map(({ name }) => name)
        .filter((name) => name !== category);
      const { hidden } = scene().state;
      const isSolo = others.every((name) => hidden.includes(name)) && !hidden.includes(category);
      change({ hidden: isSolo ? [] : others });
    },
    toggle(category) {
      const { hidden } = scene().state;
      const isHidden = hidden.includes(category);
      change({ hidden: isHidden ? hidden.filter((name) => name !== category) : [...hidden, category] });
    },
    moveInList(direction) {
      const { values } = scene().live;
      const index = values.indexOf(scene().state.selected);
      const next = index < 0 ? 0 : Math.max(0, Math.min(values.length - 1, index + direction));
      if (values.length) actions.select(values[next]!);
    },
    moveToMatch(direction) {
      const { matches } = scene().search;
      if (!matches.length) return;
      const index = matches.indexOf(scene().state.selected);
      const next = index < 0 ? (direction > 0 ? 0 : -1) : (index + direction) % matches.length;
      actions.select(matches.at(next)!);
    },
    goToValue(value) {
      actions.select(value);
      post({ type: "goTo", target: { value } });
    },
    goToStep(step) {
      actions.setStep(step);
      post({ type: "goTo", target: { step: scene().step } });
    },
    mark: (allocation) => change({ marked: allocation, selected: NONE }),
    clear() {
      const { selected, marked, picked } = scene().state;
      if (selected !== NONE || marked !== NONE) change({ selected: NONE, marked: NONE });
      else change(picked ? { picked: null } : { range: null });
    },
    compareSteps(from, to) {
      const inside = (step: number) => Math.max(0, Math.min(scene().model.stepCount - 1, Math.round(step)));
      const [first, last] = [from, to].map(inside).sort((a, b) => a - b) as [number, number];
      change({ range: first < last ? [first, last] : null });
    },
    fold(pane, isFolded) {
      const { folded } = scene().state;
      if (folded.includes(pane) === isFolded) return;
      change({ folded: folded.includes(pane) ? folded.filter((name) => name !== pane) : [...folded, pane] });
    },
    resize: (pane, share) => change({ panes: { ...scene().state.panes, [pane]: share } }),
    goToInstruction: (value) => post({ type: "goToInstruction", value }),
    openSource(source) {
      if (source) post({ type: "openSource", source });
    },
    goToAllocation(allocation) {
      if (allocation === NONE) return;
      change({ marked: allocation });
      post({ type: "goTo", target: { allocation } });
    },
    showSteps: (steps) => change(stepsInView(framed(steps, scene().allSteps, MIN_STEPS))),
    showBytes: (bytes) => change(bytesInView(framed(bytes, scene().allBytes, MIN_BYTES))),
    zoomSteps(factor, at) {
      const { steps, step, allSteps } = scene();
      const middle = step >= steps[0] && step <= steps[1] ? step : (steps[0] + steps[1]) / 2;
      change(stepsInView(zoomed(steps, at ?? middle, factor, allSteps, MIN_STEPS)));
    },
    zoomBytes(factor, at) {
      const { bytes, allBytes } = scene();
      change(bytesInView(zoomed(bytes, at ?? (bytes[0] + bytes[1]) / 2, factor, allBytes, MIN_BYTES)));
    },
    pan(steps, bytes) {
      const { allSteps, allBytes } = scene();
      change({
        ...stepsInView(panned(scene().steps, steps, allSteps)),
        ...bytesInView(panned(scene().bytes, bytes, allBytes)),
      });
    },
    reset: () => change({ steps: INITIAL.steps, bytes: INITIAL.bytes }),
    follow({ value, allocation, step }) {
      if (step >= 0) actions.setStep(step);
      if (value >= 0) actions.select(value);
      const row = allocation >= 0 ? allocation : value >= 0 ? scene().state.marked : NONE;
      if (allocation >= 0) revealAllocation(scene(), allocation, change);
      change({ marked: row });
    },
    light(name, values) {
      // What the reader picked in the map stays picked when the cursor leaves the lines with values.
      if (values.length) change({ picked: { by: "source", name, values }, selected: NONE, marked: NONE });
      else if (scene().state.picked?.values) change({ picked: null });
    },
  };
  return actions;
}

/** The view, moved as little as possible to show a value. */
function revealBox(scene: Scene, value: number): Partial<State> {
  const box = scene.layout.boxOf[value] ?? NONE;
  if (box === NONE) return {};
  const { left, right, low, high } = scene.layout.boxes;
  const steps = revealing(scene.steps, left[box]!, right[box]!, scene.allSteps);
  const bytes = revealing(scene.bytes, low[box]!, high[box]!, scene.allBytes);
  return { steps: unlessWhole(steps, scene.allSteps), bytes: unlessWhole(bytes, scene.allBytes) };
}

/** Brings an allocation into view: switches to its memory space, and to all allocations if another one is shown alone. */
function revealAllocation(scene: Scene, allocation: number, change: Actions["change"]): void {
  const color = scene.model.map.allocations.color[allocation] ?? NONE;
  if (color !== NONE && color !== scene.space.color) {
    change({ color, allocation: NONE, bytes: null });
    return;
  }
  const band = scene.layout.bands.find((band) => band.allocation === allocation);
  const bytes = band && revealing(scene.bytes, band.low, band.high, scene.allBytes);
  change(bytes ? { bytes: unlessWhole(bytes, scene.allBytes) } : { allocation: NONE, bytes: null });
}
