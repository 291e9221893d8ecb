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
 * Return the peak of a space against the capacity of the device: `44.36 GiB of 15.75 GiB HBM, over by 28.61 GiB`, or without the
 * name of the space. Without live ranges, the reserved bytes stand for the peak. Empty if the capacity is unknown.
 */
export function ofCapacity(space: SpaceSummary, hasName = true): string {
  const { capacity, name, peakStep } = space;
  if (!capacity) return "";
  const used = peakStep < 0 ? reservedText(space) : peakText(space);
  const over = isOver(space) ? `, over by ${human(capacity.overBytes)}` : "";
  return `${used} of ${human(capacity.sizeBytes)}${hasName ? ` ${name}` : ""}${over}`;
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
