/** Memory spaces. */

import type { SpaceSummary } from "./protocol";

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
