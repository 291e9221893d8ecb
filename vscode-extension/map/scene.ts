/** All that the pictures, the lists and the tables show, from the map and what the reader has chosen. */

import type { MapSpace, MemoryMap } from "../src/protocol";
import { type Colouring, colour } from "./colouring";
import { kept } from "./kept";
import { type Layout, layOut } from "./layout";
import { type LiveSet, liveAt } from "./live";
import { liveBytesAt, type Model, modelOf, NONE, spaceOf } from "./model";
import { parseSize } from "./numbers";
import { type Range, within } from "./range";
import { FAINT, HIDDEN, SHOWN } from "./raster";
import { type Search, search } from "./search";
import type { State } from "./state";

export interface Scene {
  model: Model;
  state: State;
  space: MapSpace;
  layout: Layout;
  colouring: Colouring;
  search: Search;
  /** For each value how much of it is shown, see `raster.ts`. */
  emphasis: Uint8Array;
  /** What is wrong with the least size, empty if nothing. */
  leastProblem: string;
  /** The step of the cursor, and what is live there. */
  step: number;
  liveBytes: number;
  live: LiveSet;
  /** All steps and all bytes of the lower picture, and those in view. */
  allSteps: Range;
  allBytes: Range;
  steps: Range;
  bytes: Range;
}

const NO_SPACE: MapSpace = {
  color: NONE,
  name: "none",
  reservedBytes: 0,
  peakLiveBytes: 0,
  peakStep: NONE,
  curveStep: [],
  curveBytes: [],
};

/** What makes scenes of one map. What a choice does not change is not made again. */
export function scenesOf(map: MemoryMap): (state: State) => Scene {
  const model = modelOf(map);
  const [layOutOnce, colourOnce, searchOnce] = [kept(layOut), kept(colour), kept(search)];
  const [liveOnce, emphasisOnce] = [kept(liveAt), kept(emphasise)];
  return (state) => {
    const space = spaceOf(map, state.color) ?? NO_SPACE;
    const layout = layOutOnce(model, space.color, state.allocation);
    const colouring = colourOnce(model, layout, state.colouredBy);
    const found = searchOnce(model, state.search);
    const least = state.least.trim() === "" ? 0 : parseSize(state.least);
    const step = Math.min(state.step >= 0 ? state.step : Math.max(0, space.peakStep), model.stepCount - 1);
    const allSteps: Range = [-0.5, model.stepCount - 0.5];
    const allBytes: Range = [0, Math.max(1, layout.height)];
    return {
      model,
      state,
      space,
      layout,
      colouring,
      search: found,
      emphasis: emphasisOnce(model, colouring, state.hidden, least ?? 0, found),
      leastProblem: least === null ? "A size is written as 4096, 1 MiB or 2.5GB" : "",
      step,
      liveBytes: liveBytesAt(space, step),
      live: liveOnce(model, space.color, step),
      allSteps,
      allBytes,
      steps: inView(state.steps, allSteps),
      bytes: inView(state.bytes, allBytes),
    };
  };
}

function inView(chosen: Range | null, whole: Range): Range {
  return chosen && chosen[1] > chosen[0] ? within(chosen, whole) : whole;
}

function emphasise(
  model: Model,
  colouring: Colouring,
  hidden: string[],
  leastBytes: number,
  found: Search,
): Uint8Array {
  const isHidden = colouring.categories.map(({ name }) => hidden.includes(name));
  return Uint8Array.from(model.size, (size, value) => {
    if (size < leastBytes || isHidden[colouring.of[value]!]) return HIDDEN;
    return (found.isOn && !found.isMatch[value]) || !model.isPlaced[value] ? FAINT : SHOWN;
  });
}
