/** Memory spaces. The server words their numbers. */

import { counted, human, percent } from "./numbers";
import type { SpaceSummary } from "./protocol";

/** Return a size with its bound: `3.57 MiB`, `≥ 3.57 MiB` or `unknown`. */
export function bounded(sizeBytes: number, bound: SpaceSummary["peak_bound"]): string {
  if (bound === "unknown") return "unknown";
  return `${bound === "at_least" ? "≥ " : ""}${human(sizeBytes)}`;
}

/** Return what a program needs of a space: `44.36 GiB of 15.75 GiB HBM, over by 28.61 GiB`, `4.21 MiB of host memory`. */
export function needs({ needed, limit, name, reserved_bound: bound }: SpaceSummary): string {
  if (bound === "unknown") return `${name}: unknown`;
  return `${needed} ${limit || `of ${name}`}`;
}

/** Return a share of the peak of a space, empty if the peak is not exact. */
export function shareOfPeak(
  sizeBytes: number,
  { peak_live_bytes: peakLiveBytes, peak_bound: peakBound }: SpaceSummary,
): string {
  return peakBound === "exact" ? percent(sizeBytes, peakLiveBytes) : "";
}

/** The main memory of the device, or else the first memory space. Undefined if there is none. */
export function mainSpace<Space extends SpaceSummary>(spaces: readonly Space[]): Space | undefined {
  return spaces.find(({ color }) => color === 0) ?? spaces[0];
}

/** Split memory spaces into those to show and those to fold: the small ones, if there are several. */
export function splitSmall<Space extends SpaceSummary>(spaces: readonly Space[]): [shown: Space[], folded: Space[]] {
  const folded = spaces.filter(({ is_small: isSmall }) => isSmall);
  return folded.length > 1 ? [spaces.filter(({ is_small: isSmall }) => !isSmall), folded] : [[...spaces], []];
}

/** Return a line for each memory space, and one for the small ones if there are several. */
export function headlines(spaces: readonly SpaceSummary[]): string[] {
  const [shown, folded] = splitSmall(spaces);
  const small = folded.length ? [counted(folded.length, "small memory space")] : [];
  return [...shown.map(({ headline }) => headline), ...small];
}
