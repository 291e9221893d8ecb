/** Which memory space a view shows, and how it folds small ones. */

import assert from "node:assert/strict";
import test from "node:test";

import type { SpaceSummary } from "../../shared/protocol";
import { mainSpace, needs, splitSmall } from "../../shared/spaces";

function space(given: Partial<SpaceSummary>): SpaceSummary {
  return { color: 0, name: "HBM", is_small: false, ...given } as SpaceSummary;
}

test("what the program needs is shown against the capacity", () => {
  const limit = "of 16.00 GiB HBM, over by 28.50 GiB";
  assert.equal(needs(space({ needed: "44.50 GiB", limit })), `44.50 GiB ${limit}`);
  assert.equal(needs(space({ needed: "≥ 44.50 GiB", limit: "" })), "≥ 44.50 GiB of HBM");
  assert.equal(needs(space({ needed: "unknown", limit: "", reserved_bound: "unknown" })), "HBM: unknown");
});

test("the main memory is shown, whatever else is bigger", () => {
  const [vmem, hbm] = [space({ color: 1, name: "VMEM", peak_live_bytes: 2 ** 40 }), space({})];
  assert.equal(mainSpace([vmem, hbm]), hbm);
  assert.equal(mainSpace([vmem]), vmem);
});

test("several small memory spaces are folded", () => {
  const [hbm, smem, other] = [space({}), space({ color: 2, is_small: true }), space({ color: 3, is_small: true })];
  assert.deepEqual(splitSmall([hbm, smem, other]), [[hbm], [smem, other]]);
  assert.deepEqual(splitSmall([hbm, smem]), [[hbm, smem], []]);
});
