import assert from "node:assert/strict";
import { test } from "node:test";
import { actionsOn } from "../../map/actions";
import { colour, scopeOf } from "../../map/colouring";
import { layOut } from "../../map/layout";
import { modelOf } from "../../map/model";
import { panned, revealing, unlessWhole, zoomed } from "../../map/range";
import { type Scene, scenesOf } from "../../map/scene";
import { search } from "../../map/search";
import { fromHash, fromKept, INITIAL, type State, toHash, toKept } from "../../map/state";
import type { FromMap, MemoryMap } from "../../src/protocol";
import { mapOf, REAL } from "./maps";

const MAP = mapOf(
  [
    { label: "dot.1", offset: 0, size: 8, start: 5, end: 6, opName: "jit(f)/layer_1/dot", source: "a.py:3" },
    { label: "fusion.2{0}", offset: 8, size: 4, start: 1, end: 9, opName: "jit(f)/layer_2/dot", padding: 2 },
    { label: "Copy", allocation: 1, offset: 0, size: 2, start: 2, end: 3, padding: 0 },
  ],
  [12, 4],
  10,
);

test("a search finds names, op_names and sources, in the order of birth", () => {
  const found = (query: string) => search(modelOf(MAP), query).matches;
  assert.deepEqual(found("layer_"), [1, 0]);
  assert.deepEqual(found("copy"), [2]);
  assert.deepEqual(found("a.py:3"), [0]);
  assert.deepEqual(found("/^(dot|fusion)\\.\\d(\\{\\d\\})?$/"), [1, 0]);
  assert.deepEqual(found("/COPY/i"), [2]);
  assert.deepEqual(found("/COPY/"), []);
  assert.deepEqual(found("  "), []);
});

test("a bad regular expression is said, and so is one that may take forever", () => {
  const problem = (query: string) => search(modelOf(MAP), query).problem;
  assert.match(problem("/(/"), /^No regular expression: /);
  assert.match(problem("/[/"), /^No regular expression: /);
  const endless = ["/(a+)+$/", "/(a|a)*$/", "/((a+))+$/", "/(?:x(a*)b)*/", "/(a{1,9}){2,}/", "/(a)\\1/", "/a*a*a*a*b/"];
  for (const bad of endless) {
    assert.match(problem(bad), /forever|not searched/, bad);
  }
  for (const good of ["/a+b*/", "/(ab)+/", "/(a|b)c/", "/[(+*]+/", "/\\(a\\+\\)+/", "/^fusion\\.\\d+$/"]) {
    assert.equal(problem(good), "", good);
  }
});

test("no search takes long", () => {
  const strings = Array.from({ length: 40_000 }, (_, row) => "a".repeat(280) + row);
  const model = modelOf({ ...mapOf([], [0], 0), strings });
  Object.assign(model, { count: strings.length, start: new Float64Array(strings.length) });
  Object.assign(model.map.values, { label: strings.map((_, row) => row), opName: [], source: [] });
  const before = performance.now();
  const { problem } = search(model, "/a.*a.*a.*b/");
  assert.ok(performance.now() - before < 5000);
  assert.match(problem, /took too long/);
});

test("colours: kinds, scopes of op_names, padding", () => {
  const model = modelOf(MAP);
  const names = (by: "kind" | "opName" | "source" | "padding") => {
    const { categories, of } = colour(model, layOut(model, 0, -1), by);
    return [...of].map((category) => categories[category]!.name);
  };
  assert.deepEqual(names("kind"), ["temp", "temp", "temp"]);
  assert.deepEqual(names("opName"), ["layer_*", "layer_*", "unknown"]);
  assert.deepEqual(names("source"), ["a.py:3", "unknown", "unknown"]);
  assert.deepEqual(names("padding"), ["unknown", "25 to 50 %", "no padding"]);
  assert.equal(scopeOf("jit(f)/jit(main)/dot_general"), "jit(main)");
  assert.equal(scopeOf("params[0][1]"), "params[*][*]");
  assert.equal(scopeOf("jit(f)/a/add;jit(f)/b/mul"), "a");
  assert.equal(scopeOf(""), "");
});

test("more than eight names share the last colour", () => {
  const slots = Array.from({ length: 12 }, (_, row) => {
    return { offset: row, size: 1, start: 0, end: 20 - row, source: `line ${row}` };
  });
  const model = modelOf(mapOf(slots, [12], 30));
  const { categories, of } = colour(model, layOut(model, 0, -1), "source");
  assert.deepEqual(categories.map(({ name }) => name).slice(7), ["line 7", "4 others"]);
  assert.deepEqual([...of].slice(6), [6, 7, 8, 8, 8, 8]);
});

test("zoom keeps what is below the pointer, and stays inside", () => {
  assert.deepEqual(zoomed([0, 100], 25, 2, [0, 100], 4), [12.5, 62.5]);
  assert.deepEqual(zoomed([0, 100], 100, 2, [0, 100], 4), [50, 100]);
  assert.deepEqual(zoomed([10, 20], 15, 0.001, [0, 100], 4), [0, 100]);
  assert.deepEqual(zoomed([10, 20], 15, 1000, [0, 100], 4), [13, 17]);
  assert.deepEqual(panned([90, 95], 20, [0, 100]), [95, 100]);
  assert.equal(unlessWhole([0, 100], [0, 100]), null);
});

test("the view moves only to show what is out of it, and no more than it must", () => {
  assert.deepEqual(revealing([10, 20], 12, 13, [0, 100]), [10, 20]);
  assert.deepEqual(revealing([10, 20], 30, 31, [0, 100]), [22, 32]);
  assert.deepEqual(revealing([10, 20], 5, 6, [0, 100]), [4, 14]);
  assert.deepEqual(revealing([10, 20], 15, 60, [0, 100]), [10, 20]);
  assert.deepEqual(revealing([10, 20], 40, 60, [0, 100]), [39, 49]);
});

test("a state is kept in an address, and anything else there does no harm", () => {
  assert.equal(toHash(toKept(INITIAL, MAP)), "");
  const rows: Partial<State> = { selected: 1, allocation: 0, marked: 1 };
  const chosen: Partial<State> = { color: 1, steps: [2.5, 9], hidden: ["a&b", "ü"], search: "/a#/" };
  const state: State = { ...INITIAL, ...rows, ...chosen, colouredBy: "padding" };
  assert.deepEqual(fromKept(fromHash(`#${toHash(toKept(state, MAP))}`), MAP), state);
  const wrong = "#color=%22x%22&steps=%5B1%5D&colouredBy=%22no%22&selected=1&marked=1.5&hidden=7&nothing=1&step=";
  assert.deepEqual(fromKept(fromHash(wrong), MAP), INITIAL);
  for (const kept of [null, undefined, 7, "selected"]) assert.deepEqual(fromKept(kept, MAP), INITIAL);
});

test("what is kept is found in another row, and forgotten if it is gone", () => {
  const kept = toKept({ ...INITIAL, selected: 2, allocation: 1, marked: 0, step: 3 }, MAP);
  const slot = { allocation: 0, offset: 0, size: 2, start: 2, end: 3 };
  const other = mapOf([{ ...slot, label: "Copy" }, { ...slot, label: "dot.1" }], [4, 12], 10);
  Object.assign(other.allocations, { index: [1, 0] });
  assert.deepEqual(fromKept(kept, other), { ...INITIAL, selected: 0, allocation: 0, marked: 1, step: 3 });
  assert.deepEqual(fromKept(kept, mapOf([], [], 10)), { ...INITIAL, step: 3 });
});

/** A page without pictures. */
function page(map: MemoryMap): { scene: () => Scene; actions: ReturnType<typeof actionsOn>; posted: FromMap[] } {
  const make = scenesOf(map);
  let state: State = { ...INITIAL };
  const posted: FromMap[] = [];
  const scene = () => make(state);
  const change = (changed: Partial<State>) => (state = { ...state, ...changed });
  return { scene, actions: actionsOn(scene, change, (message) => posted.push(message)), posted };
}

test("the cursor of the text is followed without an answer", () => {
  const { map } = REAL.hostOffload;
  const { scene, actions, posted } = page(map);
  const value = map.values.allocation.findIndex((row) => map.allocations.color[row] === 1);
  actions.follow({ value, allocation: -1, step: -1 });
  assert.deepEqual([scene().state.selected, scene().space.color], [value, 1]);
  actions.follow({ value: -1, allocation: -1, step: 3 });
  assert.deepEqual([scene().state.selected, scene().step], [value, 3]);
  actions.follow({ value: -1, allocation: 0, step: -1 });
  const color = map.allocations.color[0];
  assert.deepEqual([scene().state.marked, scene().space.color], [0, color]);
  assert.deepEqual(posted, []);
});

test("a click tells the editor, and selects where the value is live", () => {
  const { scene, actions, posted } = page(MAP);
  actions.setStep(9);
  actions.goToValue(0);
  assert.deepEqual([scene().state.selected, scene().step], [0, 6]);
  actions.goToStep(99);
  assert.deepEqual(posted, [
    { type: "goTo", target: { value: 0 } },
    { type: "goTo", target: { step: 9 } },
  ]);
});

test("steps, the list and the matches are gone through by key", () => {
  const { scene, actions } = page(MAP);
  assert.equal(scene().step, MAP.spaces[0]!.peakStep);
  actions.setStep(2);
  actions.moveToChange(1);
  assert.equal(scene().step, 4);
  actions.moveInList(1);
  assert.equal(scene().state.selected, 1);
  actions.change({ search: "layer" });
  actions.moveToMatch(1);
  assert.equal(scene().state.selected, 0);
  actions.moveToMatch(1);
  assert.equal(scene().state.selected, 1);
  actions.moveToMatch(-1);
  assert.equal(scene().state.selected, 0);
});

test("filters leave out what is small, and what has a hidden colour", () => {
  const { scene, actions } = page(MAP);
  actions.change({ least: "3 B" });
  assert.deepEqual([...scene().emphasis], [2, 2, 0]);
  actions.change({ least: "much" });
  assert.notEqual(scene().leastProblem, "");
  actions.change({ least: "", search: "dot.1" });
  assert.deepEqual([...scene().emphasis], [2, 1, 1]);
  actions.change({ search: "", hidden: ["temp"] });
  assert.deepEqual([...scene().emphasis], [0, 0, 0]);
});

test("maps with nothing in them make scenes", () => {
  const { scene, actions } = page({ ...mapOf([], [], 0), spaces: [] });
  actions.moveToPeak();
  actions.moveInList(1);
  actions.moveToMatch(-1);
  actions.zoomSteps(2);
  actions.zoomBytes(2);
  actions.follow({ value: -1, allocation: -1, step: -1 });
  assert.equal(scene().liveBytes, 0);
});
