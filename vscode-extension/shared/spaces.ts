/** Memory spaces. */

import { human, percent } from "./numbers";
import type { SpaceSummary } from "./protocol";

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

/**
 * Return the peak of a space against the capacity of the device: `44.36 GiB of 15.75 GiB HBM, over by 28.61 GiB`. Without live
 * ranges, the reserved bytes stand for the peak. Empty if the capacity is unknown.
 */
export function ofCapacity(space: SpaceSummary): string {
  const limit = limitText(space, true);
  return limit && `${space.peakStep < 0 ? reservedText(space) : peakText(space)} ${limit}`;
}

/** Return a share of the peak of a space, empty if the peak is not exact. */
export function shareOfPeak(sizeBytes: number, { peakLiveBytes, peakBound }: SpaceSummary): string {
  return peakBound === "exact" ? percent(sizeBytes, peakLiveBytes) : "";
}

/**
 * The memory space with the greatest peak, the first of several; if no space has live ranges, that with the most reserved
 * bytes. Undefined if there is none.
 */
export function worstSpace<Space extends SpaceSummary>(spaces: readonly Space[]): Space | undefined {
  return spaces.reduce<Space | undefined>(
    (worst, space) => (!worst || isWorse(space, worst) ? space : worst),
    undefined,
  );
}

function isWorse(space: SpaceSummary, other: SpaceSummary): boolean {
  const [peak, otherPeak] = [space, other].map((one) => (one.peakStep < 0 ? -1 : one.peakLiveBytes)) as [
    number,
    number,
  ];
  return peak > otherPeak || (peak === otherPeak && space.reservedBytes > other.reservedBytes);
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
