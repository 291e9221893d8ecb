/** The status bar item: what the server is doing, or the real peak of the set in view. */

import * as vscode from "vscode";

import { grouped, human, percent } from "../shared/numbers";
import type { Overview } from "../shared/protocol";
import { peakText, reservedText, worstSpace } from "../shared/spaces";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";

/**
 * Shows the real peak and the reserved bytes of the worst memory space; a click goes to the peak. While the server starts or
 * reads, shows that instead.
 */
export class StatusBar implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem(`${SECTION}.peak`, vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly sets: Sets,
    private readonly server: Server,
  ) {
    this.item.name = "XLA Lens: peak";
    this.subscriptions = [
      sets.onDidView(() => this.update()),
      sets.onDidChange(() => this.update()),
      server.onDidChangeActivity(() => this.update()),
    ];
    void this.update();
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    this.item.dispose();
  }

  private async update(): Promise<void> {
    if (this.showActivity()) return;
    const uri = this.sets.inView;
    if (!uri) {
      this.item.hide();
      return;
    }
    const overview = await this.sets.overview(uri);
    if (uri !== this.sets.inView || this.showActivity()) return;
    const worst = overview && worstSpace(overview.spaces);
    if (!worst) {
      this.item.hide();
      return;
    }
    const reserved = reservedText(worst);
    const peak = worst.peakStep < 0 ? "" : `${peakText(worst)} peak of `;
    const incomplete = overview.incomplete && " · incomplete dump";
    this.item.text = `$(pulse) ${peak}${reserved}${peak ? "" : " reserved"}${incomplete}`;
    this.item.tooltip = tooltip(overview, worst.peakLocation !== null);
    this.item.accessibilityInformation = { label: `XLA Lens: ${peak}${reserved} reserved${incomplete}` };
    this.item.command = `${SECTION}.goToTruePeak`;
    this.item.show();
  }

  /** Shows what the server is doing. Returns false if it is idle. */
  private showActivity(): boolean {
    const task = this.server.activity.current;
    if (!task) return false;
    this.item.text = `$(loading~spin) XLA Lens: ${task.text}`;
    this.item.tooltip = task.title;
    this.item.accessibilityInformation = { label: `XLA Lens: ${task.text}` };
    this.item.command = undefined;
    this.item.show();
    return true;
  }
}

function tooltip({ module, spaces, printedPeak, incomplete }: Overview, isLink: boolean): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendMarkdown("**");
  text.appendText(module);
  text.appendMarkdown("**\n\n| Memory space | Real peak | Share of reserved | Step |\n|---|--:|--:|--:|\n");
  for (const space of spaces) {
    const isExact = space.peakBound === "exact" && space.reservedBound === "exact";
    const [peak, share, step] =
      space.peakStep < 0 || space.peakBound === "unknown"
        ? ["unknown", "unknown", ""]
        : [
            peakText(space),
            isExact ? percent(space.peakLiveBytes, space.reservedBytes) : "unknown",
            grouped(space.peakStep),
          ];
    text.appendMarkdown(`| ${space.name} | ${peak} | ${share} of ${reservedText(space)} | ${step} |\n`);
  }
  if (incomplete) text.appendText(`\nIncomplete dump: ${incomplete}.`);
  if (printedPeak) {
    const bytes = printedPeak.bytes === null ? "the peak" : `a peak of ${human(printedPeak.bytes)}`;
    text.appendMarkdown(`\nXLA prints ${bytes} at step ${grouped(printedPeak.step)}.`);
  }
  if (isLink) text.appendMarkdown("\n\nClick to go to the real peak.");
  return text;
}
