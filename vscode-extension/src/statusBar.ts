/** The status bar item: what the server is doing, or what the program in view needs. */

import * as vscode from "vscode";

import { capitalized, grouped, human } from "../shared/numbers";
import type { Overview, SpaceOverview } from "../shared/protocol";
import { headlines, mainSpace, needs } from "../shared/spaces";
import { progressOf } from "./activity";
import { latestOnly } from "./latest";
import { SECTION, type Server } from "./server";
import type { Sets } from "./sets";

/**
 * Shows what the program needs of the device's main memory, against its capacity where that is known, red if it does not fit. A
 * click shows where it goes and what would lower it. While the server starts or reads, shows that instead.
 */
export class StatusBar implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem(`${SECTION}.peak`, vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];
  /** The file whose set the item shows. */
  private shown: vscode.Uri | undefined;
  private readonly begin = latestOnly();

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
    for (const one of [...this.subscriptions, this.item]) one.dispose();
  }

  private async update(): Promise<void> {
    const isLatest = this.begin();
    const [uri, { current: task, problem }] = [this.sets.inView, this.server.activity];
    if (problem) {
      this.shown = undefined;
      const text = `XLA Lens: ${problem.kind === "noPython" ? "no Python" : "stopped"}`;
      this.show("error", text, problem.text, `${SECTION}.showLog`, true);
    } else if (task && (!uri || uri !== this.shown))
      this.show("loading~spin", `XLA Lens: ${progressOf(task)}`, task.title);
    else if (!uri) this.item.hide();
    if (problem || !uri) return;
    const overview = await this.sets.overview(uri);
    // Shows the first answer even if another will replace it, as while the HLO module is read.
    if (!isLatest() && (this.shown || !overview || uri !== this.sets.inView)) return;
    const main = overview && mainSpace(overview.spaces);
    const isBusy = this.server.activity.current !== undefined;
    this.shown = main && uri;
    if (!main) {
      if (!isBusy) this.item.hide();
      return;
    }
    const incomplete = overview.gap && ` · ${overview.gap} dump`;
    // The size is known long before the HLO module has been read and checked.
    const icon = isBusy ? "loading~spin" : "pulse";
    this.show(icon, `${needs(main)}${incomplete}`, tooltip(overview, main), ANSWER, main.is_over);
  }

  private show(icon: string, text: string, tooltip: unknown, command?: string, isWrong = false): void {
    const backgroundColor = isWrong ? new vscode.ThemeColor("statusBarItem.errorBackground") : undefined;
    const label = text.startsWith("XLA Lens") ? text : `XLA Lens: needs ${text}`;
    this.item.text = `$(${icon}) ${text}`;
    this.item.accessibilityInformation = { label };
    Object.assign(this.item, { tooltip, command, backgroundColor });
    this.item.show();
  }
}

/** The command that shows where the memory goes and what would lower it. */
const ANSWER = `${SECTION}.openAnswer`;
const PEAK = `${SECTION}.goToTruePeak`;

function tooltip(overview: Overview, main: SpaceOverview): vscode.MarkdownString {
  const { module, spaces, printed_peak: printedPeak, incomplete, gap } = overview;
  const printed = printedPeak?.bytes == null ? "the peak" : `a peak of ${human(printedPeak.bytes)}`;
  const facts = [
    ...headlines(spaces),
    ...main.not_live.map((one) => `Also needed: ${one}.`),
    ...main.notes,
    gap && `${capitalized(gap)} dump: ${incomplete}.`,
    printedPeak && `XLA prints ${printed} at step ${grouped(printedPeak.step)}.`,
    main.device && `The device: ${main.device}.`,
    "Click to see where it goes and what would lower it.",
  ];
  const text = new vscode.MarkdownString("**").appendText(module).appendMarkdown("**");
  for (const fact of facts) if (fact) text.appendMarkdown("\n\n").appendText(fact);
  text.isTrusted = { enabledCommands: [PEAK] };
  return main.peak_location ? text.appendMarkdown(`\n\n[Go to the real peak](command:${PEAK})`) : text;
}
