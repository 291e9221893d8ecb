/** The actions of the user, by pointer or by key. Only actions send messages to the host; following its cursor does not. */

import type { MessageFromMap } from "../shared/messages";
import type { WhatIsAt } from "../shared/protocol";
import type { Picked } from "./coloring";
import { ALL, MAIN } from "./layout";
import { NONE, nextChange } from "./model";
import { panned, type Range, revealing, unlessWhole, zoomed } from "./range";
import type { Scene } from "./scene";
import { INITIAL, type PaneName, type State } from "./state";

export type Actions = ReturnType<typeof actionsOn>;

/** What a key or a button zooms by. */
export const ZOOM = 1.5;
/** Zooming in stops at this many steps and bytes. */
const MIN_STEPS = 4;
const MIN_BYTES = 16;

export function actionsOn(
  scene: () => Scene,
  change: (change: Partial<State>) => void,
  post: (message: MessageFromMap) => void,
) {
  const stepsInView = (steps: Range) => ({ steps: unlessWhole(steps, scene().allSteps) });
  const bytesInView = (bytes: Range) => ({ bytes: unlessWhole(bytes, scene().allBytes) });
  const inside = (step: number) => Math.max(0, Math.min(scene().model.stepCount - 1, Math.round(step)));

  function setStep(to: number): void {
    const { steps, allSteps } = scene();
    const step = inside(to);
    change({ step, ...stepsInView(revealing(steps, step - 0.5, step + 0.5, allSteps)) });
  }

  /** Selects a value, brings it into view, and moves the cursor to a step at which it is live. */
  function select(value: number): void {
    if (value === NONE) {
      change({ selected: NONE });
      return;
    }
    const { model, space } = scene();
    const color = model.color[value]!;
    if (color !== NONE && color !== space.color) change({ color, allocation: MAIN, bytes: null });
    if (color !== NONE && scene().layout.boxOf[value] === NONE) change({ allocation: ALL, bytes: null });
    const [start, end] = [model.start[value]!, model.end[value]!];
    const step = model.isPlaced[value] ? Math.max(start, Math.min(end, scene().step)) : scene().step;
    change({ selected: value, step, ...revealBox(value) });
  }

  /** The view, moved as little as possible to show a value. */
  function revealBox(value: number): Partial<State> {
    const { layout, steps, bytes, allSteps, allBytes } = scene();
    const box = layout.boxOf[value] ?? NONE;
    if (box === NONE) return {};
    const { left, right, low, high } = layout.boxes;
    return {
      ...stepsInView(revealing(steps, left[box]!, right[box]!, allSteps)),
      ...bytesInView(revealing(bytes, low[box]!, high[box]!, allBytes)),
    };
  }

  /** Marks an allocation, and brings it into view. */
  function showAllocation(allocation: number): void {
    const { model, space, layout, bytes, allBytes } = scene();
    const color = model.map.allocations.color[allocation] ?? NONE;
    const band = layout.bands.find((band) => band.allocation === allocation);
    if (color !== NONE && color !== space.color) change({ color, allocation: ALL, bytes: null });
    else if (!band) change({ allocation: ALL, bytes: null });
    else change(bytesInView(revealing(bytes, band.low, band.high, allBytes)));
    change({ marked: allocation });
  }

  /** Asks what happens between two steps. */
  function compareSteps(from: number, to: number): void {
    const [first, last] = [from, to].map(inside).sort((a, b) => a - b) as Range;
    change({ range: first < last ? [first, last] : null });
  }

  return {
    change,
    setStep,
    select,
    moveStep: (by: number) => setStep(scene().step + by),
    /** Moves to the next or the previous step at which the live bytes change. */
    moveToChange: (direction: 1 | -1) => setStep(nextChange(scene().space, scene().step, direction)),
    moveToPeak: () => setStep(scene().space.peak_step ?? 0),
    /** Makes the values of a group stand out, or those of all groups again. */
    pick(picked: Picked) {
      const before = scene().state.picked;
      const isSame = before?.by === picked.by && before.name === picked.name;
      change({ picked: isSame ? null : picked, selected: NONE, marked: NONE });
    },
    /** Shows only the picked group, or all values again. */
    solo: () => change({ isSolo: !scene().state.isSolo }),
    /** Selects the next or the previous value in the list of live values. */
    moveInList(direction: 1 | -1) {
      const { values } = scene().live;
      const index = values.indexOf(scene().state.selected);
      const next = index < 0 ? 0 : Math.max(0, Math.min(values.length - 1, index + direction));
      if (values.length) select(values[next]!);
    },
    /** Selects the next or the previous match of the search. */
    moveToMatch(direction: 1 | -1) {
      const { matches } = scene().search;
      if (!matches.length) return;
      const index = matches.indexOf(scene().state.selected);
      const next = index < 0 ? (direction > 0 ? 0 : -1) : (index + direction) % matches.length;
      select(matches.at(next)!);
    },
    goToValue(value: number) {
      select(value);
      post({ type: "goTo", target: { value } });
    },
    goToStep(step: number) {
      setStep(step);
      post({ type: "goTo", target: { step: scene().step } });
    },
    goToAllocation(allocation: number) {
      if (allocation === NONE) return;
      showAllocation(allocation);
      post({ type: "goTo", target: { allocation } });
    },
    /** Goes to the instruction of a value in the HLO module. */
    goToInstruction: (value: number) => post({ type: "goToInstruction", value }),
    /** Opens a source line, as the map names it. */
    openSource(source: string) {
      if (source) post({ type: "openSource", source });
    },
    mark: (allocation: number) => change({ marked: allocation, selected: NONE }),
    /** Clears the selection, or else the picked group, or else the range. */
    clear() {
      const { selected, marked, picked } = scene().state;
      if (selected !== NONE || marked !== NONE) change({ selected: NONE, marked: NONE });
      else change(picked ? { picked: null } : { range: null });
    },
    compareSteps,
    /** Makes the step of the cursor the first or the last one of the range, which is at first all steps. */
    boundRange(isFirst: boolean) {
      const { step, state, model } = scene();
      const [first, last] = state.range ?? [0, model.stepCount - 1];
      if (isFirst) compareSteps(step, step < last ? last : model.stepCount - 1);
      else compareSteps(step > first ? first : 0, step);
    },
    /** Folds a pane or unfolds it; by default the other way than it is. */
    fold(pane: PaneName, isFolded?: boolean) {
      const { folded } = scene().state;
      if (folded.includes(pane) === isFolded) return;
      change({ folded: folded.includes(pane) ? folded.filter((name) => name !== pane) : [...folded, pane] });
    },
    resize: (pane: PaneName, share: number) => change({ panes: { ...scene().state.panes, [pane]: share } }),
    zoomSteps(factor: number, at?: number) {
      const { steps, step, allSteps } = scene();
      const middle = step >= steps[0] && step <= steps[1] ? step : (steps[0] + steps[1]) / 2;
      change(stepsInView(zoomed(steps, at ?? middle, factor, allSteps, MIN_STEPS)));
    },
    zoomBytes(factor: number, at?: number) {
      const { bytes, allBytes } = scene();
      change(bytesInView(zoomed(bytes, at ?? (bytes[0] + bytes[1]) / 2, factor, allBytes, MIN_BYTES)));
    },
    pan(by: number, byBytes: number) {
      const { steps, bytes, allSteps, allBytes } = scene();
      change({ ...stepsInView(panned(steps, by, allSteps)), ...bytesInView(panned(bytes, byBytes, allBytes)) });
    },
    reset: () => change({ steps: INITIAL.steps, bytes: INITIAL.bytes }),
    /** Selects the value, allocation or step at the cursor of the text. */
    follow({ value, allocation, step }: WhatIsAt) {
      if (step !== null) setStep(step);
      if (value !== null) select(value);
      if (allocation !== null) showAllocation(allocation);
      else if (value === null) change({ marked: NONE });
    },
    /** Makes the values of the source line at the cursor stand out. */
    light(name: string, values: number[]) {
      // What the reader picked in the map stays picked when the cursor leaves the lines with values.
      if (values.length) change({ picked: { by: "source", name, values }, selected: NONE, marked: NONE });
      else if (scene().state.picked?.values) change({ picked: null });
    },
  };
}
