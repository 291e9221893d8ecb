/** The page of the memory map: connects what it shows with what is done to it and with its host. */

import type { MemoryMap, ToMap } from "../src/protocol";
import { actionsOn } from "./actions";
import { make, write } from "./dom";
import { connect } from "./host";
import { scenesOf, type Scene } from "./scene";
import { fromKept, INITIAL, type State, toKept } from "./state";
import { testHandle } from "./testHandle";
import { applyTheme, readTheme, type Theme, watchTheme } from "./theme";
import { createView } from "./view";

const root = document.getElementById("app")!;
const frameMilliseconds: number[] = [];
const FRAMES_KEPT = 1000;

let uri = "";
let state: State = INITIAL;
let makeScene: ((state: State) => Scene) | null = null;
let scene: Scene | null = null;
let theme: Theme | null = null;
let isWaiting = false;

const message = make("p", { class: "message", role: "status" }, "Reading the memory map …");
root.append(message);

applyTheme();
const host = connect(receive);
const actions = actionsOn(() => scene!, change, host.post);
const view = createView(() => scene!, actions, host, draw);

watchTheme(() => {
  theme = null;
  drawSoon();
});
host.post({ type: "ready" });
testHandle({ scene: () => scene, state: () => state, view, frameMilliseconds });

function receive(told: ToMap): void {
  switch (told.type) {
    case "map":
      return show(told.uri, told.map);
    case "problem":
      return tell(told.message);
    case "described":
      return view.described(told.target, told.markdown);
    case "cursor":
      if (scene) actions.follow(told);
  }
}

/** A map; the same set read again keeps what the reader has chosen, as far as it is there still. */
function show(newUri: string, map: MemoryMap): void {
  const kept = scene && uri === newUri ? toKept(state, scene.model.map) : host.kept(newUri);
  uri = newUri;
  state = fromKept(kept, map);
  // An editor that starts again shows the map of what was kept last.
  host.keep(uri, toKept(state, map));
  makeScene = scenesOf(map);
  scene = makeScene(state);
  view.forget();
  tell("");
  if (!view.element.isConnected) root.append(view.element);
  drawSoon();
}

function tell(words: string): void {
  write(message, words);
  message.hidden = words === "";
}

/** At once for whoever reads the scene next; drawn once before the next frame. */
function change(changed: Partial<State>): void {
  if (!makeScene) return;
  state = { ...state, ...changed };
  scene = makeScene(state);
  host.keep(uri, toKept(state, scene.model.map));
  drawSoon();
}

function drawSoon(): void {
  if (isWaiting || !scene) return;
  isWaiting = true;
  requestAnimationFrame(draw);
}

function draw(): void {
  isWaiting = false;
  if (!scene) return;
  const before = performance.now();
  theme ??= readTheme(root);
  view.draw(scene, theme);
  frameMilliseconds.push(performance.now() - before);
  if (frameMilliseconds.length > FRAMES_KEPT) frameMilliseconds.shift();
}
