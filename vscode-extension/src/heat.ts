/** Colors behind lines, in the gutter and in the overview ruler: the nearer to the peak, the stronger. */

import * as vscode from "vscode";

import { isDump } from "./documents";
import { latestOnly } from "./latest";
import type { Server } from "./server";

const ORANGE = "230, 110, 30";

const OPACITIES = [0.05, 0.09, 0.13, 0.18];

/** The level of lines whose memory may be out of date. They are gray. */
export const STALE = OPACITIES.length;

const LEVELS = [...OPACITIES.map((opacity) => heat(ORANGE, opacity)), heat("128, 128, 128", 0.08)];
export const HEATS = vscode.Disposable.from(...LEVELS);

/** Colors some lines of an editor by their level, and no others. */
export function colorLines(editor: vscode.TextEditor, lines: readonly { range: vscode.Range; level: number }[]): void {
  for (const [level, type] of LEVELS.entries()) {
    const own = lines.filter((line) => line.level === level).map(({ range }) => range);
    editor.setDecorations(type, own);
  }
}

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
    const { level, first_row: firstRow, last_row: lastRow } = found;
    const lines = level.map((level, run) => ({ level, range: new vscode.Range(firstRow[run]!, 0, lastRow[run]!, 0) }));
    colorLines(editor, lines);
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
