import assert from "node:assert/strict";
import { test } from "node:test";
import { liveAt, sums } from "../../map/live";
import { liveBytesAt, modelOf, nextChange, spaceOf } from "../../map/model";
import type { MemoryMap } from "../../shared/protocol";
import { mapOf, REAL, randomMap } from "./maps";

function checkSums(map: MemoryMap): number {
  const model = modelOf(map);
  let checked = 0;
  for (const space of map.spaces) {
    for (let step = 0; step < model.stepCount; step++) {
      const live = liveAt(model, space.color, step);
      const bySource = sums(live, (value) => map.values.source[value]!);
      const total = [...bySource.values()].reduce((sum, bytes) => sum + bytes, 0);
      assert.equal(total, liveBytesAt(space, step), `space ${space.color}, step ${step}`);
      checked += Number(total > 0);
    }
  }
  return checked;
}

test("owned bytes add up to the curve at every step", () => {
  assert.ok(checkSums(REAL.mlpTrain.map) > 30);
  assert.ok(checkSums(REAL.hostOffload.map) > 10);
  for (let seed = 0; seed < 200; seed++) checkSums(randomMap(seed));
});

test("values own the same bytes as on the server", () => {
  for (const { map, owned } of Object.values(REAL)) {
    const model = modelOf(map);
    for (const { color, step, values, ownedBytes } of owned) {
      const live = liveAt(model, color, step);
      const found = new Map(live.values.map((value, place) => [value, live.ownedBytes[place]]));
      assert.deepEqual([...found].sort(byRow), values.map((value, place) => [value, ownedBytes[place]]).sort(byRow));
    }
  }
});

test("the value that started last owns a byte; of equal starts, the later row", () => {
  const map = mapOf(
    [
      { offset: 0, size: 10, start: 0, end: 5 },
      { offset: 4, size: 10, start: 2, end: 9 },
      { offset: 8, size: 4, start: 2, end: 3 },
    ],
    [20],
    10,
  );
  const live = liveAt(modelOf(map), 0, 3);
  assert.deepEqual(live, { values: [0, 1, 2], ownedBytes: [4, 6, 4] });
});

test("live values are sorted by size", () => {
  const live = liveAt(modelOf(REAL.mlpTrain.map), 0, 36);
  const sizes = live.values.map((value) => REAL.mlpTrain.map.values.size_bytes[value]!);
  assert.deepEqual(
    sizes,
    [...sizes].sort((a, b) => b - a),
  );
});

test("the space with the greatest peak is the default", () => {
  assert.equal(spaceOf(REAL.hostOffload.map, -1)?.color, 0);
  assert.equal(spaceOf(REAL.hostOffload.map, 1)?.color, 1);
});

test("the next change of live bytes is found in both directions", () => {
  const space = mapOf([{ offset: 0, size: 4, start: 3, end: 5 }], [4], 9).spaces[0]!;
  assert.deepEqual(
    [0, 3, 4, 6].map((step) => nextChange(space, step, 1)),
    [3, 6, 6, 6],
  );
  assert.deepEqual(
    [8, 6, 4, 3].map((step) => nextChange(space, step, -1)),
    [6, 3, 3, 3],
  );
});

test("an empty map has no live values", () => {
  const model = modelOf(mapOf([], [], 0));
  assert.deepEqual([model.count, model.stepCount], [0, 1]);
  assert.deepEqual(liveAt(model, 0, 0), { values: [], ownedBytes: [] });
});

function byRow(a: unknown[], b: unknown[]): number {
  return Number(a[0]) - Number(b[0]);
}
