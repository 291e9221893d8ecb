/** Reports the cursor position in a dump to the tree and to the memory map, while they are visible. */

import * as vscode from "vscode";

import type { WhatIsAt } from "../shared/protocol";
import { isDump } from "./documents";
import { latestOnly } from "./latest";
import type { Server } from "./server";

/** A view that follows the cursor. */
export interface Follower {
  readonly isVisible: boolean;
  follow(uri: vscode.Uri, at: WhatIsAt): Promise<void>;
}

/** Debounces cursor movement, so that holding an arrow key does not cause a request per line. */
const DEBOUNCE_MS = 100;

/** Calls the followers when the cursor moves, and when `onDidShow` fires because a new view needs the position. */
export function followCursor(
  server: Server,
  followers: readonly Follower[],
  onDidShow: vscode.Event<void>,
): vscode.Disposable {
  let timer: NodeJS.Timeout | undefined;
  const begin = latestOnly();

  async function report(editor: vscode.TextEditor): Promise<void> {
    const visible = followers.filter(({ isVisible }) => isVisible);
    if (!visible.length) return;
    const isLatest = begin();
    const [uri, { line, character }] = [editor.document.uri, editor.selection.active];
    const at = await server
      .execute("xla-lens.whatIsAt", { uri: uri.toString(), position: { line, character } })
      .catch(() => undefined);
    if (at && isLatest()) await Promise.all(visible.map((follower) => follower.follow(uri, at)));
  }

  const moved = vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
    clearTimeout(timer);
    if (isDump(textEditor.document)) timer = setTimeout(() => void report(textEditor), DEBOUNCE_MS);
  });
  const shown = onDidShow(() => {
    const editor = vscode.window.activeTextEditor;
    if (editor && isDump(editor.document)) void report(editor);
  });
  return vscode.Disposable.from(moved, shown, { dispose: () => clearTimeout(timer) });
}
