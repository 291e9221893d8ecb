/** The capacity of the device in rows and in the status bar. */

import assert from "node:assert/strict";
import test from "node:test";

import type { SpaceSummary } from "../../shared/protocol";
import { isOver, limitText, mainSpace, needs, notLiveTexts, splitSmall } from "../../shared/spaces";

const GIB = 2 ** 30;

function space(overBytes: number | null, given: Partial<SpaceSummary> = {}): SpaceSummary {
  return {
    color: 0,
    name: "HBM",
    reservedBytes: 45 * GIB,
    neededBytes: 44.5 * GIB,
    reservedBound: "exact",
    peakLiveBytes: 44 * GIB,
    peakBound: "exact",
    peakStep: 7,
    capacity: overBytes === null ? null : { sizeBytes: 16 * GIB, source: "error.txt", overBytes },
    ...given,
  };
}

test("what the program needs is shown against the capacity", () => {
  assert.equal(needs(space(28.5 * GIB)), "44.50 GiB of 16.00 GiB HBM, over by 28.50 GiB");
  assert.equal(limitText(space(0)), "of 16.00 GiB");
  assert.equal(needs(space(-1, { reservedBound: "at_least" })), "≥ 44.50 GiB of 16.00 GiB HBM");
  assert.equal(needs(space(null)), "44.50 GiB of HBM");
});

test("the main memory is shown, whatever else is bigger", () => {
  const vmem = space(null, { color: 1, name: "VMEM", peakLiveBytes: 100 * GIB });
  const hbm = space(null);
  assert.equal(mainSpace([vmem, hbm]), hbm);
  assert.equal(mainSpace([vmem]), vmem);
});

test("memory that is needed but not live at the peak is listed by kind", () => {
  const notLive = [
    { kind: "output", sizeBytes: GIB },
    { kind: "thread-local", sizeBytes: -64 },
  ];
  const overview = {
    ...space(null),
    notLive,
    parts: [],
    peakInstruction: "",
    peakLocation: null,
    live: [],
    liveCount: 0,
  };
  assert.deepEqual(notLiveTexts(overview), ["Not live then: 1.00 GiB of outputs that no argument is donated to"]);
  assert.deepEqual(notLiveTexts({ ...overview, peakBound: "at_least" }), []);
});

test("a program exceeds the device only if the dump proves it", () => {
  assert.deepEqual(
    [1, 0, -1, null].map((overBytes) => isOver(space(overBytes))),
    [true, false, false, false],
  );
});

test("several small memory spaces are folded, never the default space", () => {
  const [vmem, smem, other] = [46 * 2 ** 20, 44, 512].map((peakLiveBytes, index) =>
    space(null, { color: index + 1, peakLiveBytes, reservedBytes: peakLiveBytes }),
  ) as [SpaceSummary, SpaceSummary, SpaceSummary];
  const tiny = space(null, { peakLiveBytes: 8, reservedBytes: 8 });
  assert.deepEqual(splitSmall([tiny, vmem, smem, other]), [
    [tiny, vmem],
    [smem, other],
  ]);
  assert.deepEqual(splitSmall([tiny, smem]), [[tiny, smem], []]);
});
