/** Runs of programs: their folders, names and differences. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { ModuleSummary, SpaceSummary } from "../../shared/protocol";
import { changeSince, groupByRun, runName } from "../../shared/runs";

const TEXTS = { needed: "", reserved: "", peak: "", limit: "", headline: "", is_over: false, is_small: false };
const FILE = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt";

function module(
  path: string,
  neededBytes: number,
  reservedBound: SpaceSummary["reserved_bound"] = "exact",
): ModuleSummary {
  const sizes = {
    reserved_bytes: neededBytes,
    needed_bytes: neededBytes,
    reserved_bound: reservedBound,
    peak_live_bytes: 0,
    peak_bound: reservedBound,
  };
  const space: SpaceSummary = { color: 0, name: "HBM", ...sizes, peak_step: null, capacity: null, ...TEXTS };
  return { uri: `file:///${path}`, module: path.split(".")[1]!, incomplete: "", gap: "", spaces: [space], files: [] };
}

function group(...modules: ModuleSummary[]) {
  return groupByRun(modules, ({ uri }) => uri.slice("file:///".length));
}

test("runs: the newest first, and what belongs to no run", () => {
  const { runs, rest } = group(
    module(`xla-dumps/train-20261123-080000/process-7/${FILE}`, 3),
    module(`old/${FILE}`, 2),
    module(`xla-dumps/eval-a-20261124-120000-2/${FILE}`, 1),
    module(`xla-dumps/train-20261123-080000/process-8/${FILE}`, 1),
  );
  assert.deepEqual(
    runs.map((run) => [runName(run, "20261124"), run.folder, run.modules.length]),
    [
      ["eval-a · 12:00:00 (2)", "xla-dumps/eval-a-20261124-120000-2", 1],
      ["train · 2026-11-23 08:00:00", "xla-dumps/train-20261123-080000", 2],
    ],
  );
  assert.deepEqual(
    rest.map(({ uri }) => uri),
    [`file:///old/${FILE}`],
  );
});

function changeOf(...modules: ModuleSummary[]): string | undefined {
  const { runs } = group(...modules);
  return changeSince(runs, runs[0]!)?.text;
}

test("runs: the difference to the same module of the previous run of the program", () => {
  const now = module(`train-20261124-120000/${FILE}`, 2 ** 20);
  const before = module(`train-20261124-110000/${FILE}`, 3 * 2 ** 20);
  const earlier = module(`train-20261124-100000/${FILE}`, 2 ** 19);
  const other = module(`eval-20261124-113000/${FILE}`, 5);
  assert.equal(changeOf(earlier, other, before, now), "jit_f needs 2.00 MiB less than the previous run.");
  assert.equal(changeOf(now, earlier), "jit_f needs 512.0 KiB more than the previous run.");
  assert.equal(changeOf(now, { ...now, uri: before.uri }), "jit_f needs as much as the previous run.");
});

test("runs: no difference without a previous run, the same module or exact numbers", () => {
  const now = module(`train-20261124-120000/${FILE}`, 1);
  assert.equal(changeOf(now, module(`eval-20261124-110000/${FILE}`, 2)), undefined);
  assert.equal(changeOf(now, module(`train-20261124-110000/${FILE.replace("jit_f", "jit_g")}`, 2)), undefined);
  assert.equal(changeOf(now, module(`train-20261124-110000/${FILE}`, 2, "at_least")), undefined);
});
