/** Memory spaces. */

import { human, percent } from "./numbers";
import type { SpaceOverview, SpaceSummary } from "./protocol";

/** Return a size with its bound: `3.57 MiB`, `≥ 3.57 MiB` or `unknown`. */
export function bounded(sizeBytes: number, bound: SpaceSummary["peakBound"]): string {
  if (bound === "unknown") return "unknown";
  return `${bound === "at_least" ? "≥ " : ""}${human(sizeBytes)}`;
}

/** Return the peak of a space with its bound. */
export function peakText({ peakLiveBytes, peakBound }: SpaceSummary): string {
  return bounded(peakLiveBytes, peakBound);
}

/** Return the reserved bytes of a space with their bound. */
export function reservedText({ reservedBytes, reservedBound }: SpaceSummary): string {
  return bounded(reservedBytes, reservedBound);
}

/** Return what a program needs of a space, with its bound. */
export function neededText({ neededBytes, reservedBound }: SpaceSummary): string {
  return bounded(neededBytes, reservedBound);
}

/** Return what a program needs of a space, and its peak if that is known: `HBM: needs 5.00 MiB, peak 4.21 MiB`. */
export function spaceText(space: SpaceSummary): string {
  const peak = space.peakStep < 0 ? "" : `, peak ${peakText(space)}`;
  return `${space.name}: needs ${neededText(space)}${peak}`;
}

const NOT_LIVE: Readonly<Record<string, string>> = {
  parameter: "donated arguments",
  output: "outputs that no argument is donated to",
  temp: "gaps between temporaries",
  constant: "constants",
};

/** Return what a program needs of a space besides what is live at its peak: a text for each kind of allocation. */
export function notLiveTexts({ notLive, reservedBound, peakBound }: SpaceOverview): string[] {
  if (reservedBound !== "exact" || peakBound !== "exact") return [];
  const parts = notLive.filter(({ sizeBytes }) => sizeBytes > 0);
  return parts.map(
    ({ kind, sizeBytes }) => `Not live then: ${human(sizeBytes)} of ${NOT_LIVE[kind] ?? "other allocations"}`,
  );
}

/** Return whether a program exceeds the device. */
export function isOver({ capacity }: SpaceSummary): boolean {
  return capacity !== null && capacity.overBytes > 0;
}

/**
 * Return the capacity of the device, to follow a number of bytes: `of 15.75 GiB, over by 28.61 GiB`, or with the name of the
 * space: `of 95.74 GiB HBM`. Empty if it is unknown.
 */
export function limitText(space: SpaceSummary, hasName = false): string {
  const { capacity, name } = space;
  if (!capacity) return "";
  const over = isOver(space) ? `, over by ${human(capacity.overBytes)}` : "";
  return `of ${human(capacity.sizeBytes)}${hasName ? ` ${name}` : ""}${over}`;
}

/** Return what a program needs of a space: `44.36 GiB of 15.75 GiB HBM, over by 28.61 GiB`, `4.21 MiB of host memory`. */
export function needs(space: SpaceSummary): string {
  return `${neededText(space)} ${limitText(space, true) || `of ${space.name}`}`;
}

/** Return a share of the peak of a space, empty if the peak is not exact. */
export function shareOfPeak(sizeBytes: number, { peakLiveBytes, peakBound }: SpaceSummary): string {
  return peakBound === "exact" ? percent(sizeBytes, peakLiveBytes) : "";
}

/** The main memory of the device, or else the first memory space. Undefined if there is none. */
export function mainSpace<Space extends SpaceSummary>(spaces: readonly Space[]): Space | undefined {
  return spaces.find(({ color }) => color === 0) ?? spaces[0];
}

/** Smaller memory spaces than this are folded, as in reports. */
const BIG_BYTES = 2 ** 16;

/** Split memory spaces into those to show and those to fold: the small ones besides the default space, if there are several. */
export function splitSmall<Space extends SpaceSummary>(spaces: readonly Space[]): [shown: Space[], folded: Space[]] {
  const isSmall = ({ color, peakLiveBytes, reservedBytes }: Space): boolean =>
    color !== 0 && Math.max(peakLiveBytes, reservedBytes) < BIG_BYTES;
  const folded = spaces.filter(isSmall);
  return folded.length > 1 ? [spaces.filter((space) => !isSmall(space)), folded] : [[...spaces], []];
}
