import assert from "node:assert/strict";
import { test } from "node:test";
import { sizeTicks } from "../../map/plot";
import { counted, exact, human, parseSize, percent } from "../../shared/numbers";
import numbers from "./data/numbers.json";

test("sizes are formatted as in reports", () => {
  for (const [size, inUnit, whole] of numbers.human as [number, string, string][]) {
    assert.equal(human(size), inUnit, `${size}`);
    assert.equal(exact(size), whole, `${size}`);
  }
});

test("percentages are formatted as in reports", () => {
  for (const [part, whole, text] of numbers.percent as [number, number, string][]) {
    assert.equal(percent(part, whole), text, `${part} of ${whole}`);
  }
});

test("sizes are parsed as on the command line", () => {
  for (const [text, size] of numbers.parseSize as [string, number | null][]) assert.equal(parseSize(text), size, text);
});

test("counts have the right plural", () => {
  assert.deepEqual([counted(1, "value"), counted(2170, "value")], ["1 value", "2,170 values"]);
});

test("ticks are round and have different labels", () => {
  const text = (low: number, high: number, count: number) => [...sizeTicks([low, high], count).values()];
  assert.deepEqual(text(0, 2 ** 20, 2), ["0", "0.5 MiB", "1.0 MiB"]);
  assert.deepEqual(text(0, 3000, 3), ["0", "1 KiB", "2 KiB"]);
  assert.deepEqual(text(0, 9, 20), ["0", "1 B", "2 B", "3 B", "4 B", "5 B", "6 B", "7 B", "8 B", "9 B"]);
  assert.deepEqual(text(0, 0, 5), []);
  for (let power = 0; power < 50; power++) {
    for (const share of [1, 0.3, 1e-3, 1e-7]) {
      const high = 1.7 * 2 ** power;
      const ticks = sizeTicks([high * (1 - share), high], 5);
      assert.equal(new Set(ticks.values()).size, ticks.size, `${high} ${share}`);
      assert.ok(ticks.size <= 8, `${high} ${share}: ${ticks.size}`);
      for (const bytes of ticks.keys()) assert.ok(bytes <= high && bytes >= high * (1 - share) * (1 - 1e-9));
    }
  }
});
