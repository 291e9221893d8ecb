/** The page of the memory map: connects state, view and host. */

import type { MessageFromMap, MessageToMap } from "../shared/messages";
import type { MemoryMap } from "../shared/protocol";
import { actionsOn } from "./actions";
import { make, write } from "./dom";
import { connect } from "./host";
import { MAIN } from "./layout";
import { NONE } from "./model";
import { createScenes, type Scene } from "./scene";
import { fromSaved, INITIAL, type State, toSaved } from "./state";
import { exposeTestHandle } from "./testHandle";
import { applyTheme, readTheme, type Theme, watchTheme } from "./theme";
import { createView } from "./view";

const root = document.getElementById("app")!;

let uri = "";
let state: State = INITIAL;
let makeScene: ((state: State) => Scene) | null = null;
/** The map in front, and the one that it is compared with. */
let maps: MemoryMap[] = [];
let scene: Scene | null = null;
let theme: Theme | null = null;
let isWaiting = false;

const message = make("p", { class: "message", role: "status" }, "Reading the memory map …");
root.append(message);

applyTheme();
const host = connect(receive);
const actions = actionsOn(() => scene!, change, post);
const view = createView(() => scene!, actions, { ...host, post }, { redraw: draw, swap });

watchTheme(() => {
  theme = null;
  drawSoon();
});
host.post({ type: "ready" });
exposeTestHandle(() => scene, view);

function receive(received: MessageToMap): void {
  switch (received.type) {
    case "map":
      show(received.uri, received.map, received.other);
      break;
    case "problem":
      write(message, received.message);
      break;
    case "described":
      view.details.setDescription(received.target, received.markdown);
      break;
    case "cursor":
      if (scene) actions.follow(received);
      break;
    case "flame":
      if (scene) view.showFlame();
      break;
    case "light":
      if (scene) actions.light(received.name, received.values);
  }
}

/** Shows a map. After a reload of the same set, keeps the parts of the state that still exist in the new map. */
function show(newUri: string, map: MemoryMap, other?: MemoryMap): void {
  if (![map, ...(other ? [other] : [])].every(({ spaces }) => spaces.length)) {
    write(message, "The dump has no allocations.");
    return;
  }
  const saved = scene && uri === newUri ? toSaved(state, scene.model.map) : host.saved(newUri);
  uri = newUri;
  state = fromSaved(saved, map);
  // When the editor restarts, it restores the map that was saved last.
  host.save(uri, toSaved(state, map));
  setMaps(other ? [map, other] : [map]);
  view.details.clearDescriptions();
  write(message, "");
  if (!view.element.isConnected) root.append(view.element);
  drawSoon();
}

function setMaps(shown: MemoryMap[]): void {
  maps = shown;
  const [first, second] = maps.map(createScenes);
  makeScene = (state) => {
    const scene = first!(state);
    return second ? { ...scene, other: second(stateOfOther(scene)) } : scene;
  };
  scene = makeScene(state);
}

/** The other dump of a comparison shows the same steps, and the partner of the selected value. */
function stateOfOther({ state, model, space, step }: Scene): State {
  const selected = model.map.comparison?.partner[state.selected] ?? NONE;
  return { ...state, color: space.color, allocation: MAIN, marked: NONE, bytes: null, step, selected };
}

/** Brings the other dump of a comparison to the front, and selects a value of it. */
function swap(selected: number): void {
  state = { ...state, allocation: MAIN, marked: NONE, bytes: null, selected };
  setMaps([...maps].reverse());
  view.details.clearDescriptions();
  drawSoon();
}

function post(message: MessageFromMap): void {
  const side = maps[0]?.comparison?.side;
  host.post(side && (message.type === "goTo" || message.type === "describe") ? { ...message, side } : message);
}

/** Changes the state and the scene now, and draws them once before the next frame. */
function change(changed: Partial<State>): void {
  if (!makeScene) return;
  state = { ...state, ...changed };
  scene = makeScene(state);
  host.save(uri, toSaved(state, scene.model.map));
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
  theme ??= readTheme(root);
  view.draw(scene, theme);
}
