/** Who the page is shown by: an editor, which sends maps and goes to places; or nobody, and the map is in the page. */

import type { FromMap, MemoryMap, ToMap } from "../src/protocol";
import { fromHash, type Kept, toHash } from "./state";

export interface Host {
  /** Whether there is an editor that goes to places and describes values. */
  isEditor: boolean;
  post(message: FromMap): void;
  /** What was kept for the map of a set, see `fromKept`. */
  kept(uri: string): unknown;
  keep(uri: string, kept: Kept): void;
}

interface Editor {
  postMessage(message: FromMap): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Editor;

const KEPT_AFTER_MILLISECONDS = 150;

/** Connects the page with whoever shows it; `receive` gets all messages, also that of the map in the page. */
export function connect(receive: (message: ToMap) => void): Host {
  const host = typeof acquireVsCodeApi === "function" ? ofEditor(acquireVsCodeApi(), receive) : alone(receive);
  return { ...host, keep: delayed(host.keep) };
}

function ofEditor(editor: Editor, receive: (message: ToMap) => void): Host {
  window.addEventListener("message", (event: MessageEvent<ToMap>) => receive(event.data));
  return {
    isEditor: true,
    post: (message) => editor.postMessage(message),
    kept(uri) {
      const told = editor.getState() as { uri?: unknown; kept?: unknown } | null | undefined;
      return told?.uri === uri ? told.kept : undefined;
    },
    keep: (uri, kept) => editor.setState({ uri, kept }),
  };
}

function alone(receive: (message: ToMap) => void): Host {
  void readMap().then(
    (map) => receive({ type: "map", uri: "", map }),
    (error: unknown) => receive({ type: "problem", message: `The memory map cannot be read: ${String(error)}` }),
  );
  return {
    isEditor: false,
    post: () => undefined,
    kept: () => fromHash(location.hash),
    keep(_uri, kept) {
      const hash = toHash(kept);
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    },
  };
}

/** The map in the page: JSON, compressed by gzip, in base64. */
async function readMap(): Promise<MemoryMap> {
  const element = document.getElementById("memory-map");
  if (!element?.textContent) throw new Error("this page has none");
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(unpacked).json()) as MemoryMap;
}

/** Only the last of many calls counts: an address may not change more than some times a second. */
function delayed(keep: Host["keep"]): Host["keep"] {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (uri, kept) => {
    clearTimeout(timer);
    timer = setTimeout(() => keep(uri, kept), KEPT_AFTER_MILLISECONDS);
  };
}
