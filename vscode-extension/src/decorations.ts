/** Two letters beside the files of a dump in the Explorer, where long names are cut off before they differ. */

import * as vscode from "vscode";

/** The end of the name of each kind of file, its letters, and what they stand for. */
const KINDS: [end: RegExp, badge: string, tooltip: string][] = [
  [/-buffer-assignment\.txt$/, "BA", "buffer assignment"],
  [/-buffer-assignment-values\.txt$/, "VA", "values"],
  [/-live-range\.txt$/, "LR", "live ranges"],
  [/-memory-usage-report\.txt$/, "MU", "memory usage report"],
  [/after_optimizations\.txt$/, "HL", "HLO module"],
];

export function decorateFiles(): vscode.Disposable {
  return vscode.window.registerFileDecorationProvider({
    provideFileDecoration({ path }) {
      const [, badge, tooltip] = KINDS.find(([end]) => end.test(path)) ?? [];
      return badge === undefined ? undefined : new vscode.FileDecoration(badge, `XLA dump: ${tooltip}`);
    },
  });
}
