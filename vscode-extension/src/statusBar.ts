/** The peak of the set in view, in the status bar. */

import * as vscode from "vscode";

import { human, percent } from "../map/numbers";
import type { Overview, SpaceSummary } from "./protocol";
import { SECTION } from "./server";
import type { Sets } from "./sets";

/** Shows the true peak and what is reserved of the set in view; a click goes to the peak. */
export class StatusBar implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem(`${SECTION}.peak`, vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly sets: Sets) {
    this.item.name = "XLA Lens: peak";
    this.item.command = `${SECTION}.goToTruePeak`;
    this.subscriptions = [sets.onDidView(() => this.show()), sets.onDidChange(() => this.show())];
    void this.show();
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
    this.item.dispose();
  }

  private async show(): Promise<void> {
    const uri = this.sets.inView;
    if (!uri) {
      this.item.hide();
      return;
    }
    const overview = await this.sets.overview(uri);
    if (uri !== this.sets.inView) return;
    const worst = overview && worstSpace(overview);
    if (!worst) {
      this.item.hide();
      return;
    }
    const reserved = human(worst.reservedBytes);
    const [peak, word] = worst.peakStep < 0 ? ["", " reserved"] : [`${human(worst.peakLiveBytes)} peak of `, ""];
    this.item.text = `$(pulse) ${peak}${reserved}${word}`;
    this.item.tooltip = tooltip(overview);
    this.item.accessibilityInformation = { label: `XLA Lens: ${peak}${reserved} reserved` };
    this.item.show();
  }
}

/** The memory space of the greatest peak; of a set without live ranges the one that reserves most. */
export function worstSpace<Space extends SpaceSummary>({ spaces }: { spaces: readonly Space[] }): Space | undefined {
  const bytes = (space: Space) => [space.peakStep < 0 ? -1 : space.peakLiveBytes, space.reservedBytes] as const;
  return spaces.reduce<Space | undefined>((worst, space) => {
    if (!worst) return space;
    const [[peak, reserved], [worstPeak, worstReserved]] = [bytes(space), bytes(worst)];
    return peak > worstPeak || (peak === worstPeak && reserved > worstReserved) ? space : worst;
  }, undefined);
}

function tooltip(overview: Overview): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendMarkdown("**");
  text.appendText(overview.module);
  text.appendMarkdown("**\n\n| Memory space | true peak | of reserved | at step |\n|---|--:|--:|--:|\n");
  for (const { color, name, peakLiveBytes, peakStep, reservedBytes } of overview.spaces) {
    const [peak, share, step] =
      peakStep < 0 ? ["-", "-", "-"] : [human(peakLiveBytes), percent(peakLiveBytes, reservedBytes), peakStep.toLocaleString("en-US")];
    text.appendMarkdown(`| ${color} ${name} | ${peak} | ${share} of ${human(reservedBytes)} | ${step} |\n`);
  }
  const { printedPeak } = overview;
  if (printedPeak) {
    const bytes = printedPeak.bytes === null ? "a peak" : `a peak of ${human(printedPeak.bytes)}`;
    text.appendMarkdown(`\nXLA prints ${bytes} at step ${printedPeak.step.toLocaleString("en-US")}.`);
  }
  if (worstSpace(overview)?.peakLocation) text.appendMarkdown("\n\nClick to go to the true peak.");
  return text;
}
