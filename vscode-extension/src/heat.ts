/** Colors behind lines, in the gutter and in the overview ruler: the nearer to the peak, the stronger. */

import * as vscode from "vscode";

import { isDump } from "./documents";
import { latestOnly } from "./latest";
import type { Server } from "./server";

const ORANGE = "230, 110, 30";

/** How to draw each level. A stale one is gray. */
export const HEATS = [0.05, 0.09, 0.13, 0.18].map((opacity) => heat(ORANGE, opacity));
export const STALE = heat("128, 128, 128", 0.08);

function heat(color: string, opacity: number): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    // The end of a long line is out of sight.
    gutterIconPath: vscode.Uri.parse(`data:image/svg+xml;utf8,${encodeURIComponent(bar(color, opacity))}`),
    gutterIconSize: "contain",
    backgroundColor: `rgba(${color}, ${opacity})`,
    overviewRulerColor: `rgba(${color}, ${Math.min(1, 0.3 + 4 * opacity)})`,
    overviewRulerLane: vscode.OverviewRulerLane.Right,
  });
}

/** A bar for the gutter, the higher the stronger. */
function bar(color: string, opacity: number): string {
  const height = Math.min(16, Math.round(opacity * 90));
  const box = `x="4" y="${16 - height}" width="6" height="${height}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect ${box} fill="rgb(${color})"/></svg>`;
}

/** Shows in schedules which steps are near the peak. */
export function showHeatOfSteps(server: Server): vscode.Disposable {
  const begin = latestOnly();
  const draw = async (editor: vscode.TextEditor, isLatest: () => boolean) => {
    const { uri } = editor.document;
    if (!isDump(editor.document) || uri.scheme !== "file" || !server.isStarted) return;
    const found = await server.execute("xla-lens.heat", { uri: uri.toString() }).catch(() => undefined);
    // Without an answer, as while a set is loaded again, the marks stay until that load is announced.
    if (!found || !isLatest()) return;
    const ranges = found.level.map((_, run) => new vscode.Range(found.firstRow[run]!, 0, found.lastRow[run]!, 0));
    for (const [level, type] of HEATS.entries()) {
      const own = ranges.filter((_, run) => found.level[run] === level);
      editor.setDecorations(type, own);
    }
  };
  const drawAll = () => {
    const isLatest = begin();
    for (const editor of vscode.window.visibleTextEditors) void draw(editor, isLatest);
  };
  drawAll();
  return vscode.Disposable.from(
    vscode.window.onDidChangeVisibleTextEditors(drawAll),
    // A document may get its language after its editor was shown.
    vscode.workspace.onDidOpenTextDocument(drawAll),
    server.onDidLoad(drawAll),
  );
}
