/** Everything that plots, lists and tables show, derived from the map and the state. */

import type { MapSpace, MemoryMap } from "../shared/protocol";
import { type Coloring, coloringBy, defaultColorBy, membersOf } from "./coloring";
import { type Layout, layOut } from "./layout";
import { bytesOf, type LiveSet, liveAt, type Stack, stackOf } from "./live";
import { memoizeLast } from "./memoize";
import { liveBytesAt, type Model, modelOf, NONE, spaceOf } from "./model";
import { type Range, within } from "./range";
import { FAINT, HIDDEN, SHOWN } from "./raster";
import { within as matchesWithin, type Search, search } from "./search";
import type { State } from "./state";
import type { Theme } from "./theme";

export interface Scene {
  /** The other dump of a comparison, on the same axis of steps. */
  other?: Scene;
  model: Model;
  state: State;
  space: MapSpace;
  layout: Layout;
  coloring: Coloring;
  /** The live bytes by color. */
  stack: Stack;
  /** The values that match the query and belong to the picked group. */
  search: Search;
  /** The bytes of the matches at the peak; without a peak, the sum of their sizes. */
  matchedBytes: number;
  /** HIDDEN, FAINT or SHOWN for each value, see `raster.ts`. */
  emphasis: Uint8Array;
  /** The step of the cursor, and the live values there. */
  step: number;
  liveBytes: number;
  live: LiveSet;
  /** The live values at the peak. */
  peak: LiveSet;
  /** The steps and bytes of the lower plot: all, and those in view. */
  allSteps: Range;
  allBytes: Range;
  steps: Range;
  bytes: Range;
}

/** A part of the page, which draws a scene. */
export interface Drawing {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
}

/** Return a function from state to scene for one map, which has a memory space. Parts that a change of state does not affect are reused. */
export function createScenes(map: MemoryMap): (state: State) => Scene {
  const model = modelOf(map);
  const [layOutOnce, coloringOnce, searchOnce] = [memoizeLast(layOut), memoizeLast(coloringBy), memoizeLast(search)];
  const [membersOnce, matchesOnce] = [memoizeLast(membersOf), memoizeLast(matchesWithin)];
  const [bytesOnce, stackOnce] = [memoizeLast(matchedBytesOf), memoizeLast(stackOf)];
  const [liveOnce, peakOnce, emphasisOnce] = [memoizeLast(liveAt), memoizeLast(liveAt), memoizeLast(emphasize)];
  const colorBy = defaultColorBy(model);
  return (state) => {
    const space = spaceOf(map, state.color);
    const layout = layOutOnce(model, space.color, state.allocation);
    const coloring = coloringOnce(model, space, state.colorBy ?? colorBy);
    const members = state.picked && membersOnce(model, coloring, state.picked);
    const found = matchesOnce(model, searchOnce(model, state.search), space.color, members);
    const peak = peakOnce(model, space.color, space.peak_step ?? NONE);
    const step = Math.min(state.step >= 0 ? state.step : (space.peak_step ?? 0), model.stepCount - 1);
    const allSteps: Range = [-0.5, model.stepCount - 0.5];
    const allBytes: Range = [0, Math.max(1, layout.height)];
    return {
      model,
      state,
      space,
      layout,
      coloring,
      stack: stackOnce(model, space.color, coloring.categories.length, coloring.of),
      search: found,
      matchedBytes: bytesOnce(model, space, peak, found),
      emphasis: emphasisOnce(model, found, members, state.isSolo),
      step,
      liveBytes: liveBytesAt(space, step),
      live: liveOnce(model, space.color, step),
      peak,
      allSteps,
      allBytes,
      steps: inView(state.steps, allSteps),
      bytes: inView(state.bytes, allBytes),
    };
  };
}

function matchedBytesOf(model: Model, space: MapSpace, peak: LiveSet, { isMatch, matches }: Search): number {
  if (space.peak_step !== null) return bytesOf(peak, isMatch);
  return matches.reduce((sum, value) => sum + model.size[value]!, 0);
}

function inView(chosen: Range | null, whole: Range): Range {
  return chosen && chosen[1] > chosen[0] ? within(chosen, whole) : whole;
}

function emphasize(model: Model, found: Search, members: Uint8Array | null, isSolo: boolean): Uint8Array {
  return model.isPlaced.map((placed, value) => {
    if (isSolo && members && !members[value]) return HIDDEN;
    return placed && (!found.isOn || found.isMatch[value]) ? SHOWN : FAINT;
  });
}
