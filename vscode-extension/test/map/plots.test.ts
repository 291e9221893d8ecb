import assert from "node:assert/strict";
import { test } from "node:test";
import { changesIn } from "../../map/between";
import { coloringBy } from "../../map/coloring";
import { columnsOf } from "../../map/curve";
import { type Call, type Flame, flameOf } from "../../map/flameTree";
import { ALL, layOut, MAIN } from "../../map/layout";
import { liveAt, stackOf, sums } from "../../map/live";
import { liveBytesAt, modelOf } from "../../map/model";
import { FAINT, type Frame, paint, rasterize, SHOWN } from "../../map/raster";
import { createScenes } from "../../map/scene";
import { INITIAL } from "../../map/state";
import type { MemoryMap } from "../../shared/protocol";
import { chance, mapOf, REAL, randomMap } from "./maps";

test("allocations are stacked by size, without empty ones", () => {
  const model = modelOf(mapOf([{ allocation: 2, offset: 3, size: 5, start: 1, end: 2 }], [4, 0, 16], 5));
  const layout = layOut(model, 0, ALL);
  assert.deepEqual(layout.bands, [
    { allocation: 2, low: 0, high: 16 },
    { allocation: 0, low: 16, high: 20 },
  ]);
  const { left, right, low, high } = layout.boxes;
  assert.deepEqual([left[0], right[0], low[0], high[0]], [0.5, 2.5, 3, 8]);
});

test("values without a live range span all steps", () => {
  const layout = layOut(modelOf(mapOf([{ offset: 0, size: 4, start: -1, end: -1 }], [4], 7)), 0, ALL);
  assert.deepEqual([layout.boxes.left[0], layout.boxes.right[0]], [-0.5, 6.5]);
});

test("each pixel belongs to the value at its center, or to a small one", () => {
  for (let seed = 0; seed < 100; seed++) {
    const { boxes, height } = layOut(modelOf(randomMap(seed)), 0, ALL);
    const frame: Frame = { left: -0.5, right: 24.5, bottom: 0, top: Math.max(1, height), width: 250, height: 397 };
    const raster = rasterize(boxes, frame, new Uint8Array(100).fill(SHOWN));
    for (let pixel = 0; pixel < raster.boxes.length; pixel += 97) {
      const step = -0.5 + (25 * ((pixel % 250) + 0.5)) / 250;
      const bytes = frame.top * (1 - (Math.floor(pixel / 250) + 0.5) / 397);
      const here = [...boxes.value.keys()].filter((box) => {
        const isThen = boxes.left[box]! < step && step < boxes.right[box]!;
        return isThen && boxes.low[box]! <= bytes && bytes < boxes.high[box]!;
      });
      // The value that started last is the last of the boxes.
      assert.equal(raster.boxes[pixel], here.at(-1) ?? -1, `seed ${seed}, pixel ${pixel}`);
    }
  }
});

test("the smallest values get a pixel", () => {
  const below = chance(1);
  for (let round = 0; round < 200; round++) {
    const [start, offset] = [below(100_000), below(1_000_000)];
    const slot = { offset, size: 1, start, end: start };
    const boxes = layOut(modelOf({ ...mapOf([slot], [1_000_001], 0), spaces: [] }), 0, ALL).boxes;
    const frame = { left: -0.5, right: 100_000.5, bottom: 0, top: 1_000_001, width: 90, height: 40 };
    const raster = rasterize(boxes, frame, Uint8Array.of(SHOWN));
    assert.equal(raster.boxes.filter((box) => box === 0).length, 1);
  }
});

test("the largest of several small values gets the pixel, and shown values lie above faint ones", () => {
  const slots = [
    { offset: 0, size: 1, start: 0, end: 0 },
    { offset: 2, size: 3, start: 0, end: 0 },
    { offset: 5, size: 1, start: 0, end: 0 },
  ];
  const { boxes } = layOut(modelOf({ ...mapOf(slots, [1000], 0) }), 0, ALL);
  const frame = { left: -0.5, right: 999.5, bottom: 0, top: 1000, width: 2, height: 2 };
  const seen = (emphasis: number[]) => rasterize(boxes, frame, Uint8Array.from(emphasis)).boxes[2];
  assert.equal(seen([SHOWN, SHOWN, SHOWN]), 1);
  assert.equal(seen([SHOWN, FAINT, FAINT]), 0);
  assert.equal(seen([FAINT, FAINT, SHOWN]), 2);
});

test("large boxes have an edge where another one begins", () => {
  const slots = [
    { offset: 0, size: 4, start: 0, end: 3 },
    { offset: 0, size: 4, start: 4, end: 7 },
  ];
  const { boxes } = layOut(modelOf(mapOf(slots, [4], 8)), 0, ALL);
  const frame = { left: -0.5, right: 7.5, bottom: 0, top: 4, width: 8, height: 4 };
  const raster = rasterize(boxes, frame, Uint8Array.of(SHOWN, SHOWN));
  const painted = paint(raster, Uint32Array.of(1, 2), Uint32Array.of(11, 12), 0);
  assert.deepEqual([...painted.slice(0, 8)], [11, 11, 11, 11, 12, 12, 12, 12]);
  assert.deepEqual([...painted.slice(8, 16)], [11, 1, 1, 1, 12, 2, 2, 2]);
});

test("a reduced curve keeps minimum and maximum", () => {
  for (const { map } of Object.values(REAL)) {
    const model = modelOf(map);
    for (const space of map.spaces) {
      for (const width of [1, 3, 7, 400]) {
        const right = model.stepCount - 0.5;
        const columns = columnsOf(space.curve_step, space.curve_bytes, -0.5, right, width);
        const steps = Array.from({ length: model.stepCount }, (_, step) => liveBytesAt(space, step));
        assert.equal(Math.max(...columns.map(({ max }) => max)), Math.max(...steps));
        assert.equal(columns.at(-1)!.last, steps.at(-1));
        assert.ok(columns.every(({ x }, place) => place === 0 || x >= columns[place - 1]!.x));
        assert.ok(columns.length <= width + 2);
      }
    }
  }
  assert.deepEqual(
    columnsOf([], [], 0, 10, 100).map(({ last }) => last),
    [0, 0],
  );
});

test("the stack adds up to the curve at every step", () => {
  const check = (map: MemoryMap) => {
    const model = modelOf(map);
    for (const space of map.spaces) {
      for (const by of ["kind", "source"] as const) {
        const coloring = coloringBy(model, space, by);
        const { steps, totals, bytes } = stackOf(model, space.color, coloring.categories.length, coloring.of);
        for (let step = 0; step <= model.stepCount; step++) {
          const at = steps.findLastIndex((one) => one <= step);
          assert.equal(totals[at] ?? 0, liveBytesAt(space, step), `step ${step}`);
          const live = liveAt(model, space.color, step);
          for (const [key, ownedBytes] of sums(live, (value) => coloring.of[value]!)) {
            assert.equal(bytes[key]![at], ownedBytes, `step ${step}, ${coloring.categories[key]!.name}`);
          }
        }
      }
    }
  };
  for (const { map } of Object.values(REAL)) check(map);
  for (let seed = 0; seed < 300; seed++) check(randomMap(seed));
});

test("constants and thread-local allocations are folded, unless large or the only ones", () => {
  const shown = (names: string[], sizes: number[], allocation: number) => {
    const map = mapOf([], sizes, 5);
    map.strings = names;
    map.allocations.kind = names.map((_, row) => row);
    return layOut(modelOf(map), 0, allocation).bands.map((band) => band.allocation);
  };
  const mixed = (allocation: number) =>
    shown(["temp", "thread-local", "constant", "constant"], [100, 4096, 4, 50], allocation);
  assert.deepEqual(mixed(MAIN), [0, 3]);
  assert.deepEqual(mixed(ALL), [1, 0, 3, 2]);
  assert.deepEqual(mixed(1), [1]);
  assert.deepEqual(shown(["thread-local", "thread-local"], [4, 8], MAIN), [1, 0]);
});

const CALLS: [string, number][] = [
  ["train.py:9 in main", -1],
  ["train.py:5 in step", 0],
  ["model.py:2 in mlp", 1],
];
const CALLED = mapOf(
  [
    { label: "saved", offset: 0, size: 6, start: 0, end: 9, call: 2 },
    { label: "gone", offset: 6, size: 4, start: 0, end: 3, call: 1 },
    { label: "new", offset: 6, size: 8, start: 5, end: 9, call: 2, source: "model.py:2 in mlp" },
    { label: "state", allocation: 1, offset: 0, size: 3, start: 0, end: 9, source: "parameters state[0]" },
  ],
  [14, 3],
  10,
  CALLS,
);

/** The frames of a flame graph: their depth, name, bytes and width. */
function framesOf({ root }: Flame): string[] {
  const lines = (frame: Call, depth: number): string[] => [
    `${" ".repeat(depth)}${frame.name} ${frame.bytes.join()} ${frame.width}${frame.isFound ? "" : " faint"}`,
    ...frame.callees.flatMap((callee) => lines(callee, depth + 1)),
  ];
  return lines(root, 0);
}

test("the flame graph has the calls of the values that are live at a step", () => {
  const scene = createScenes(CALLED)({ ...INITIAL, step: 2, search: "step" });
  assert.deepEqual(framesOf(flameOf([{ scene, live: scene.live, side: 1 }])), [
    " 0,13 13",
    " train.py:9 in main 0,10 10",
    "  train.py:5 in step 0,10 10",
    "   model.py:2 in mlp 0,6 6",
    "    saved 0,6 6",
    "   gone 0,4 4",
    " parameters state[0] 0,3 3 faint",
    "  state 0,3 3 faint",
  ]);
});

test("the flame graph of a range has what each call leads to before and after, and room for both", () => {
  const scene = createScenes(CALLED)(INITIAL);
  const at = (step: number, side: 0 | 1) => ({ scene, live: liveAt(scene.model, 0, step), side });
  assert.deepEqual(framesOf(flameOf([at(2, 0), at(6, 1)])), [
    " 13,17 21",
    " train.py:9 in main 10,14 18",
    "  train.py:5 in step 10,14 18",
    "   model.py:2 in mlp 6,14 14",
    " parameters state[0] 3,3 3",
  ]);
});

test("flame graphs add up to the live bytes, and callees fit below their callers", () => {
  const check = (frame: Call) => {
    const sum = frame.callees.reduce((total, { width }) => total + width, 0);
    assert.ok(sum <= frame.width && frame.width >= Math.max(...frame.bytes));
    frame.callees.forEach(check);
  };
  for (const { map, owned } of Object.values(REAL)) {
    for (const { color, step, ownedBytes } of owned) {
      const scene = createScenes(map)({ ...INITIAL, color, step });
      const { root } = flameOf([{ scene, live: scene.live, side: 1 }]);
      assert.equal(
        root.width,
        ownedBytes.reduce((sum, bytes) => sum + bytes, 0),
      );
      check(root);
      check(
        flameOf([
          { scene, live: scene.peak, side: 0 },
          { scene, live: scene.live, side: 1 },
        ]).root,
      );
    }
  }
});

test("the changes in a range are those of the groups, and add up to the change of the curve", () => {
  const scene = createScenes(CALLED)({ ...INITIAL, colorBy: "source" });
  assert.deepEqual(changesIn(scene, [2, 6]), [
    { name: "model.py:2 in mlp", growthBytes: 8, allocatedBytes: 8, freedBytes: 0, throughoutBytes: 0 },
    { name: "parameters state[0]", growthBytes: 0, allocatedBytes: 0, freedBytes: 0, throughoutBytes: 3 },
    { name: "no source line", growthBytes: -4, allocatedBytes: 0, freedBytes: 4, throughoutBytes: 6 },
  ]);
  for (const by of ["source", "kind", "padding"] as const) {
    const real = createScenes(REAL.mlpTrain.map)({ ...INITIAL, colorBy: by });
    for (const [first, last] of [
      [0, 36],
      [5, 20],
      [36, 40],
    ] as const) {
      const growth = changesIn(real, [first, last]).reduce((sum, { growthBytes }) => sum + growthBytes, 0);
      assert.equal(growth, liveBytesAt(real.space, last) - liveBytesAt(real.space, first));
    }
  }
});
