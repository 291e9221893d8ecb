/** Follows the cursor in the text: what it is on is told to the tree and to the map, if they are to be seen. */

import * as vscode from "vscode";

import { isDump } from "./documents";
import type { WhatIsAt } from "./protocol";
import type { Server } from "./server";

/** Who wants to know where the cursor is, when there is something to be seen of it. */
export interface Follower {
  readonly isVisible: boolean;
  follow(uri: vscode.Uri, at: WhatIsAt): Promise<void>;
}

/** So that a cursor that runs through the text is not asked about at each line. */
const PAUSE_MS = 100;

/** Tells the followers where the cursor is when it moves, and when there is something new to be seen. */
export function followCursor(server: Server, followers: readonly Follower[], onDidShow: vscode.Event<void>): vscode.Disposable {
  let pause: NodeJS.Timeout | undefined;
  let moves = 0;

  async function look(editor: vscode.TextEditor): Promise<void> {
    const wanting = followers.filter(({ isVisible }) => isVisible);
    if (!wanting.length) return;
    moves += 1;
    const [move, uri, { line, character }] = [moves, editor.document.uri, editor.selection.active];
    const at = await server.ask<WhatIsAt>("whatIsAt", { uri: uri.toString(), position: { line, character } }).catch(() => undefined);
    if (at && move === moves) await Promise.all(wanting.map((follower) => follower.follow(uri, at)));
  }

  const moved = vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
    clearTimeout(pause);
    if (isDump(textEditor.document)) pause = setTimeout(() => void look(textEditor), PAUSE_MS);
  });
  const shown = onDidShow(() => {
    const editor = vscode.window.activeTextEditor;
    if (editor && isDump(editor.document)) void look(editor);
  });
  return vscode.Disposable.from(moved, shown, { dispose: () => clearTimeout(pause) });
}
