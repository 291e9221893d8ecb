/** The host of the page: an editor that exchanges messages with it, or none if the map is embedded in the page. */

import type { MessageFromMap, MessageToMap } from "../shared/messages";
import type { MemoryMap } from "../shared/protocol";
import { fromHash, type SavedState, toHash } from "./state";

export interface Host {
  /** Whether an editor answers `goTo` and `describe`. */
  isEditor: boolean;
  post(message: MessageFromMap): void;
  /** What was saved for the map of a set, unchecked: see `fromSaved`. */
  saved(uri: string): unknown;
  save(uri: string, saved: SavedState): void;
}

interface Editor {
  postMessage(message: MessageFromMap): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Editor;

const SAVE_DELAY_MILLISECONDS = 150;

/** Connects the page with its host. `receive` gets all valid messages, including one with an embedded map. */
export function connect(receive: (message: MessageToMap) => void): Host {
  const host = typeof acquireVsCodeApi === "function" ? editorHost(acquireVsCodeApi(), receive) : noHost(receive);
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    ...host,
    // Saves only the last of several states: browsers limit how often the URL may change.
    save(uri, saved) {
      clearTimeout(timer);
      timer = setTimeout(() => host.save(uri, saved), SAVE_DELAY_MILLISECONDS);
    },
  };
}

function editorHost(editor: Editor, receive: (message: MessageToMap) => void): Host {
  window.addEventListener("message", ({ data }: MessageEvent<MessageToMap | null>) => {
    if (data) receive(data);
  });
  return {
    isEditor: true,
    post: (message) => editor.postMessage(message),
    saved(uri) {
      const state = editor.getState() as { uri?: unknown; saved?: unknown } | null | undefined;
      return state?.uri === uri ? state.saved : undefined;
    },
    save: (uri, saved) => editor.setState({ uri, saved }),
  };
}

function noHost(receive: (message: MessageToMap) => void): Host {
  void readMap().then(
    ([map, other]) => receive({ type: "map", uri: "", map: map!, ...(other && { other }) }),
    (error: unknown) => receive({ type: "problem", message: `The memory map could not be read: ${String(error)}` }),
  );
  return {
    isEditor: false,
    post(message) {
      // Without an editor, the path of a source line can only be copied.
      if (message.type === "openSource") void navigator.clipboard?.writeText(message.source).catch(() => undefined);
    },
    saved: () => fromHash(location.hash),
    save(_uri, saved) {
      // A page in a frame of a notebook has no URL of its own.
      if (location.protocol === "about:") return;
      const hash = toHash(saved);
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    },
  };
}

/**
 * Read the map that is embedded in the page: JSON, compressed with gzip, in base64. `?map=2` selects the second map. Of a
 * comparison, the map of the new dump comes first.
 */
async function readMap(): Promise<MemoryMap[]> {
  const number = new URLSearchParams(location.search).get("map");
  const element = document.getElementById(number ? `memory-map-${number}` : "memory-map");
  if (!element?.textContent) throw new Error("the page has no map");
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = (await new Response(unpacked).json()) as MemoryMap | Record<"old" | "new", MemoryMap>;
  return "new" in data ? [data.new, data.old] : [data];
}
