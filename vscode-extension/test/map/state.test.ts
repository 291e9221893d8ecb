import assert from "node:assert/strict";
import { test } from "node:test";
import { actionsOn } from "../../map/actions";
import { coloringBy, scopeOf } from "../../map/coloring";
import { modelOf } from "../../map/model";
import { panned, revealing, unlessWhole, zoomed } from "../../map/range";
import { createScenes, type Scene } from "../../map/scene";
import { search, within } from "../../map/search";
import { fromHash, fromSaved, INITIAL, type State, toHash, toSaved } from "../../map/state";
import type { MessageFromMap } from "../../shared/messages";
import type { MemoryMap } from "../../shared/protocol";
import { sourceLine } from "../../shared/sources";
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

test("colors are by source line where one is known, else by kind", () => {
  const by = (map: MemoryMap) => createScenes(map)(INITIAL).coloring.by;
  assert.equal(by(MAP), "source");
  assert.equal(by(mapOf([{ offset: 0, size: 8, start: 5, end: 6, source: "parameters state[0]" }], [12], 10)), "kind");
});

test("a search finds names, op_names and sources, the largest first", () => {
  const found = (query: string) => within(modelOf(MAP), search(modelOf(MAP), query), 0, null).matches;
  assert.deepEqual(found("layer_"), [0, 1]);
  assert.deepEqual(found("copy"), [2]);
  assert.deepEqual(found("a.py:3"), [0]);
  assert.deepEqual(found("/^(dot|fusion)\\.\\d(\\{\\d\\})?$/"), [0, 1]);
  assert.deepEqual(found("/COPY/i"), [2]);
  assert.deepEqual(found("/COPY/"), []);
  assert.deepEqual(found(">2B"), [0, 1]);
  assert.deepEqual(found("copy <3"), [2]);
  assert.deepEqual(found("  "), []);
});

test("invalid and slow regular expressions are rejected with a reason", () => {
  const problem = (query: string) => search(modelOf(MAP), query).problem;
  assert.match(problem("/(/"), /^Invalid regular expression: /);
  for (const bad of [
    "/(a+)+$/",
    "/(a|a)*$/",
    "/((a+))+$/",
    "/(?:x(a*)b)*/",
    "/(a{1,9}){2,}/",
    "/(a)\\1/",
    "/a*a*a*a*b/",
  ]) {
    assert.match(problem(bad), /too slow/, bad);
  }
  for (const good of ["/a+b*/", "/(a|b)c/", "/[(+*]+/", "/^fusion\\.\\d+$/"]) assert.equal(problem(good), "", good);
});

test("values are colored by kind, scope of op_name, source and padding", () => {
  const model = modelOf(MAP);
  const names = (by: "kind" | "op_name" | "source" | "padding") => {
    const { categories, of } = coloringBy(model, model.map.spaces[0]!, by);
    return [...of].map((category) => categories[category]!.name);
  };
  assert.deepEqual(names("kind"), ["temp", "temp", "temp"]);
  assert.deepEqual(names("op_name"), ["layer_*", "layer_*", "no op_name"]);
  assert.deepEqual(names("source"), ["a.py:3", "no source line", "no source line"]);
  assert.deepEqual(names("padding"), ["unknown", "25 to 50 %", "no padding"]);
  assert.equal(scopeOf("jit(f)/jit(main)/dot_general"), "jit(main)");
  assert.equal(scopeOf("params[0][1]"), "params[0][*]");
  assert.equal(scopeOf("state[1]['layers'][12]['w_down']"), "state[1]['layers'][*]['w_down']");
  assert.equal(scopeOf("state.params['layers_12']['kernel']"), "state.params['layers_*']['kernel']");
  assert.equal(scopeOf("jit(f)/a/add;jit(f)/b/mul"), "a");
  assert.equal(scopeOf(""), "");
});

test("names beyond the eighth share a color", () => {
  const slots = Array.from({ length: 12 }, (_, row) => {
    return { offset: row, size: 1, start: 0, end: 20 - row, source: `line ${row}` };
  });
  const model = modelOf(mapOf(slots, [12], 30));
  const { categories, of } = coloringBy(model, model.map.spaces[0]!, "source");
  assert.deepEqual(categories.map(({ name }) => name).slice(7), ["line 7", "4 others", "no source line"]);
  assert.deepEqual([...of].slice(6), [6, 7, 8, 8, 8, 8]);
});

test("zooming keeps the point under the pointer, and stays within the whole", () => {
  assert.deepEqual(zoomed([0, 100], 25, 2, [0, 100], 4), [12.5, 62.5]);
  assert.deepEqual(zoomed([0, 100], 100, 2, [0, 100], 4), [50, 100]);
  assert.deepEqual(zoomed([10, 20], 15, 0.001, [0, 100], 4), [0, 100]);
  assert.deepEqual(zoomed([10, 20], 15, 1000, [0, 100], 4), [13, 17]);
  assert.deepEqual(panned([90, 95], 20, [0, 100]), [95, 100]);
  assert.equal(unlessWhole([0, 100], [0, 100]), null);
});

test("revealing moves the view as little as possible", () => {
  assert.deepEqual(revealing([10, 20], 12, 13, [0, 100]), [10, 20]);
  assert.deepEqual(revealing([10, 20], 30, 31, [0, 100]), [22, 32]);
  assert.deepEqual(revealing([10, 20], 5, 6, [0, 100]), [4, 14]);
  assert.deepEqual(revealing([10, 20], 15, 60, [0, 100]), [10, 20]);
  assert.deepEqual(revealing([10, 20], 40, 60, [0, 100]), [39, 49]);
});

test("a state survives in a URL, and anything else in the URL is ignored", () => {
  assert.equal(toHash(toSaved(INITIAL, MAP)), "");
  const chosen: Partial<State> = {
    picked: { by: "source", name: "a&b" },
    color: 1,
    steps: [2.5, 9],
    search: "/a#ü/",
  };
  const state: State = { ...INITIAL, ...chosen, selected: 1, colorBy: "padding" };
  assert.deepEqual(fromSaved(fromHash(`#${toHash(toSaved(state, MAP))}`), MAP), state);
  const wrong =
    "#color=%22x%22&steps=%5B1%5D&colorBy=%22no%22&selected=1&marked=1.5&folded=7&nothing=1&picked=%7B%22by%22%3A7%7D&step=";
  assert.deepEqual(fromSaved(fromHash(wrong), MAP), INITIAL);
  for (const kept of [null, undefined, 7, "selected"]) assert.deepEqual(fromSaved(kept, MAP), INITIAL);
});

test("a restored state finds values in other rows, and drops those that are gone", () => {
  const kept = toSaved({ ...INITIAL, selected: 2, marked: 0, step: 3 }, MAP);
  const slot = { allocation: 0, offset: 0, size: 2, start: 2, end: 3 };
  const other = mapOf(
    [
      { ...slot, label: "Copy" },
      { ...slot, label: "dot.1" },
    ],
    [4, 12],
    10,
  );
  Object.assign(other.allocations, { index: [1, 0] });
  assert.deepEqual(fromSaved(kept, other), { ...INITIAL, selected: 0, marked: 1, step: 3 });
  assert.deepEqual(fromSaved(kept, mapOf([], [], 10)), { ...INITIAL, step: 3 });
});

/** A page without plots. */
function page(map: MemoryMap): { scene: () => Scene; actions: ReturnType<typeof actionsOn>; posted: MessageFromMap[] } {
  const make = createScenes(map);
  let state: State = { ...INITIAL };
  const posted: MessageFromMap[] = [];
  const scene = () => make(state);
  const change = (changed: Partial<State>) => (state = { ...state, ...changed });
  return { scene, actions: actionsOn(scene, change, (message) => posted.push(message)), posted };
}

test("following the cursor of the text sends no message", () => {
  const { map } = REAL.hostOffload;
  const { scene, actions, posted } = page(map);
  const value = map.values.allocation.findIndex((row) => map.allocations.color[row] === 1);
  actions.follow({ value, allocation: null, step: null });
  assert.deepEqual([scene().state.selected, scene().space.color], [value, 1]);
  actions.follow({ value: null, allocation: null, step: 3 });
  assert.deepEqual([scene().state.selected, scene().step], [value, 3]);
  actions.follow({ value: null, allocation: 0, step: null });
  const color = map.allocations.color[0];
  assert.deepEqual([scene().state.marked, scene().space.color], [0, color]);
  assert.deepEqual(posted, []);
});

test("a double click sends a message, and selects a step at which the value is live", () => {
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

test("keys move through steps, live values and matches", () => {
  const { scene, actions } = page(MAP);
  assert.equal(scene().step, MAP.spaces[0]!.peak_step);
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

test("an empty map has a scene", () => {
  const { scene, actions } = page(mapOf([], [], 0));
  actions.moveToPeak();
  actions.moveInList(1);
  actions.moveToMatch(-1);
  actions.zoomSteps(2);
  actions.zoomBytes(2);
  actions.follow({ value: null, allocation: null, step: null });
  assert.equal(scene().liveBytes, 0);
});

test("a picked group stands out, adds up to its share of the peak, and is searched within", () => {
  const { map } = REAL.mlpTrain;
  const { scene, actions, posted } = page(map);
  actions.change({ colorBy: "source" });
  const source = scene().coloring.categories[0]!.name;
  actions.pick({ by: "source", name: source });
  const { search: found, matchedBytes, peak, emphasis } = scene();
  const members = [...map.values.source.keys()].filter((row) => map.strings[map.values.source[row]!] === source);
  assert.deepEqual(
    [...found.matches].sort((a, b) => a - b),
    members,
  );
  assert.ok(members.length > 1);
  const owned = peak.values.reduce((sum, value, at) => sum + (members.includes(value) ? peak.ownedBytes[at]! : 0), 0);
  assert.equal(matchedBytes, owned);
  assert.ok(members.every((value) => emphasis[value] === 2 || !scene().model.isPlaced[value]));
  const sizes = found.matches.map((value) => map.values.size_bytes[value]!);
  assert.deepEqual(
    sizes,
    [...sizes].sort((a, b) => b - a),
  );
  // By the same name while the colors are others.
  actions.change({ colorBy: "kind" });
  assert.deepEqual(scene().search.matches, found.matches);
  const label = map.strings[map.values.label[members[0]!]!]!;
  actions.change({ search: label });
  assert.ok(scene().search.matches.includes(members[0]!));
  assert.ok(scene().search.matches.length < members.length);
  // The same group again: nothing is picked.
  actions.change({ search: "" });
  actions.pick({ by: "source", name: source });
  assert.equal(scene().search.isOn, false);
  actions.openSource(source);
  actions.openSource("");
  assert.deepEqual(posted, [{ type: "openSource", source }]);
});

test("solo shows the picked group alone", () => {
  const { scene, actions } = page(MAP);
  actions.pick({ by: "source", name: "parameters state[0]", values: [1] });
  actions.solo();
  assert.deepEqual([...scene().emphasis], [0, 2, 0]);
  actions.solo();
  assert.deepEqual([...scene().emphasis], [1, 2, 1]);
});

test("the name of a source line has a path and a line", () => {
  assert.deepEqual(sourceLine("/home/me/train.py:31 in step"), { path: "/home/me/train.py", line: 31 });
  assert.deepEqual(sourceLine("C:\\a b\\x.py:7"), { path: "C:\\a b\\x.py", line: 7 });
  assert.equal(sourceLine("<stdin>"), undefined);
});
