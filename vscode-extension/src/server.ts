/** The language server: starts it when it is first needed, and runs its commands. */

import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  type InitializeParams,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";

import type { Commands, DidLoad, PositionArguments, SourceArguments } from "../shared/protocol";
import { Activity, type Problem } from "./activity";
import { MAX_DOCUMENT_BYTES, PAGE_SCHEME, READ_SCHEMES } from "./documents";
import { goTo, show } from "./locations";
import { findServer, offerInTerminals, rememberedServer, rememberServer } from "./python";
import { LANGUAGES } from "./recognition";
import { commandUri, isSourceLine, isSourceMissing, locate } from "./sources";

/** The section of the settings, and the prefix of command names. */
export const SECTION = "xla-lens";

export class Server implements vscode.Disposable {
  private readonly loaded = new vscode.EventEmitter<DidLoad>();
  private readonly restarted = new vscode.EventEmitter<void>();
  private readonly started = new vscode.EventEmitter<void>();
  private readonly activityChanged = new vscode.EventEmitter<void>();
  private starting: Promise<LanguageClient | undefined> | undefined;
  private hasShownProblem = false;
  private hasRun = false;

  /** The program `xla-lens` and its first arguments, empty while no server has been found. */
  program: readonly string[] = [];

  /** What the server is doing. */
  readonly activity = new Activity(() => this.activityChanged.fire());
  /** Fires when the server begins, continues or ends a task. */
  readonly onDidChangeActivity = this.activityChanged.event;
  /** Fires when the server loaded, reloaded or closed a dump set. */
  readonly onDidLoad = this.loaded.event;
  /** Fires when the server has started and answers requests. */
  readonly onDidStart = this.started.event;
  /** Fires when the server has started again, which makes earlier answers stale. */
  readonly onDidRestart = this.restarted.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /**
   * Runs a command of the server, and starts the server if needed. Returns undefined if the server cannot
   * start; the user has seen a message then. Throws the error response of the server.
   */
  async execute<Name extends keyof Commands>(
    command: Name,
    argument: Commands[Name]["arguments"],
    token?: vscode.CancellationToken,
  ): Promise<Commands[Name]["answer"] | undefined> {
    const client = await this.start();
    const answer = await client?.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] }, token);
    noteComparison(command);
    return answer;
  }

  /** Starts the server unless it runs. After a failure, does not try again until `restart`. */
  start(): Promise<LanguageClient | undefined> {
    // Launches later: whoever is told of the start may call this method again.
    this.starting ??= Promise.resolve().then(() => this.launch());
    return this.starting;
  }

  /** Whether the server has been started, successfully or not. */
  get isStarted(): boolean {
    return this.starting !== undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Restarts the server if it has been started, successfully or not. */
  async retry(): Promise<void> {
    if (this.starting) await this.restart();
  }

  dispose(): void {
    void this.stop();
    for (const emitter of [this.activityChanged, this.loaded, this.restarted, this.started]) emitter.dispose();
  }

  private async stop(): Promise<void> {
    const client = await this.starting;
    this.starting = undefined;
    this.hasShownProblem = false;
    // Start a new server even if the old one fails to stop.
    await client?.dispose().catch((error: unknown) => this.log.warn(`the server did not end cleanly: ${error}`));
  }

  private async launch(): Promise<LanguageClient | undefined> {
    this.activity.progress(STARTING, { message: "starting…" });
    this.activity.fail(undefined);
    try {
      return await this.connect();
    } finally {
      this.activity.end(STARTING);
    }
  }

  private async connect(): Promise<LanguageClient | undefined> {
    const known = rememberedServer(this.context);
    const found = known ?? (await findServer(this.context, this.log));
    if ("problem" in found) {
      this.showProblem({ kind: "noPython", text: found.problem });
      return undefined;
    }
    void rememberServer(this.context, found);
    this.program = [found.command, ...found.args];
    offerInTerminals(this.context, this.program).catch((error: unknown) => this.log.warn(`terminals: ${error}`));
    const command = {
      command: found.command,
      args: [...found.args, "server"],
      options: { cwd: this.context.extensionPath },
    };
    const client = new Client(SECTION, "XLA Lens", command, this.options());
    client.onNotification("xla-lens/didLoad", (params: DidLoad) => this.loaded.fire(params));
    client.onDidChangeState(({ newState }) => {
      // A server that was restarted knows of no comparison.
      noteComparison("xla-lens.endComparison");
      if (newState === State.Stopped) this.activity.clear();
      // A client that is disposed of stops as well.
      const hasEnded = newState === State.Stopped || newState === State.StartFailed;
      const stopped: Problem = { kind: "stopped", text: "The XLA Lens server has stopped." };
      this.activity.fail(hasEnded && this.starting ? stopped : undefined);
      if (newState !== State.Running) return;
      if (this.hasRun) this.restarted.fire();
      this.hasRun = true;
    });
    try {
      await client.start();
    } catch (error) {
      if (known) {
        // The Python may have been replaced since.
        await rememberServer(this.context, undefined);
        return this.connect();
      }
      const text = `The XLA Lens server does not start: ${error instanceof Error ? error.message : error}`;
      this.showProblem({ kind: "stopped", text });
      return undefined;
    }
    this.started.fire();
    return client;
  }

  private options(): LanguageClientOptions {
    return {
      // Pages are plain text, and recognized by their scheme.
      documentSelector: [
        ...READ_SCHEMES.flatMap((scheme) => LANGUAGES.map((language) => ({ scheme, language }))),
        { scheme: PAGE_SCHEME },
      ],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      synchronize: { configurationSection: SECTION },
      // Hovers may link to these commands, which only go somewhere.
      markdown: { isTrusted: { enabledCommands: LINKED_COMMANDS } },
      middleware: {
        executeCommand: async (command, args, next) => {
          // LSP has no request that fills the editor's list of references. A command of the editor does.
          if (command === `${SECTION}.showReferences`) return showReferences(args[0]);
          if (command === `${SECTION}.goTo` && isSourceLine(args[0])) return this.goToSource(args[0]);
          const answer: unknown = await next(command, args);
          noteComparison(command);
          return answer;
        },
        async provideWorkspaceSymbols(query, token, next) {
          return (await next(query, token))?.map((symbol) => withFilter(symbol, query));
        },
        async resolveDocumentLink(link, token, next) {
          const resolved = (await next(link, token)) ?? link;
          const data: unknown = "data" in link ? link.data : undefined;
          // The source file is not here: the command says so, and asks where it is.
          if (!resolved.target && isSourceLine(data)) resolved.target = vscode.Uri.parse(commandUri("goTo", data));
          return resolved;
        },
        window: {
          // The client's own way cannot show files over 50 MB, nor documents in an editor other than that for text.
          async showDocument(params, token, next) {
            if (params.external) return next(params, token);
            const { uri, selection, takeFocus } = params;
            const options = { preserveFocus: !takeFocus };
            await (selection ? goTo({ uri, range: selection }, options) : show(uri, options));
            return { success: true };
          },
        },
        handleWorkDoneProgress: (token, params, next) => {
          // The editor's own indicator shows no percentage. It gets the end, which releases the token.
          if (params.kind === "end") {
            this.activity.end(token);
            next(token, params);
          } else {
            this.activity.progress(token, params);
          }
        },
      },
    };
  }

  /** Goes to a source line, or asks where the file is. */
  private async goToSource(source: SourceArguments): Promise<void> {
    try {
      await this.execute("xla-lens.goTo", source);
    } catch (error) {
      if (!isSourceMissing(error)) throw error;
      await locate(source);
    }
  }

  /** Logs a problem, and shows the first one as a notification. */
  private showProblem(problem: Problem): void {
    this.activity.fail(problem);
    this.log.error(problem.text);
    if (this.hasShownProblem) return;
    this.hasShownProblem = true;
    const openSetting = "Open Setting";
    void vscode.window.showErrorMessage(problem.text, openSetting, "Show Log").then((choice) => {
      const setting = `${SECTION}.server.python`;
      if (choice === openSetting) void vscode.commands.executeCommand("workbench.action.openSettings", setting);
      else if (choice) this.log.show();
    });
  }
}

/** The commands that links in hovers may run. */
export const LINKED_COMMANDS = ["goTo", "showLiveSet", "showAllocationHistory", "showActions", "showValuesInMap"].map(
  (name) => `${SECTION}.${name}`,
);

/** Tells menus when a command has begun or ended a comparison. */
function noteComparison(command: string): void {
  const isComparing = command === `${SECTION}.compare`;
  if (!isComparing && command !== `${SECTION}.endComparison`) return;
  void vscode.commands.executeCommand("setContext", `${SECTION}.isComparing`, isComparing);
}

/** Identifies the start of the server among its activities; the others have the tokens of their progress. */
const STARTING = Symbol("starting");

/**
 * Tells the server what this client supports beyond LSP: the notification `xla-lens/didLoad`, links to commands in Markdown, and
 * drawing the memory of Python files by itself.
 */
class Client extends LanguageClient {
  protected override fillInitializeParams(params: InitializeParams): void {
    super.fillInitializeParams(params);
    const xlaLens = { didLoad: true, commandUris: true, sourceLines: true, largestFileBytes: MAX_DOCUMENT_BYTES };
    params.capabilities.experimental = { ...(params.capabilities.experimental as object), xlaLens };
  }
}

/**
 * Makes a symbol match the editor's own filter, which compares the first word of a query with the names that a server finds,
 * even if that word is a size.
 */
function withFilter<Symbol extends vscode.SymbolInformation>(symbol: Symbol, query: string): Symbol {
  if (/^[<>]/.test(query) && !symbol.name.includes(query)) symbol.name = `${symbol.name}  ${query}`;
  return symbol;
}

async function showReferences({ uri, position }: PositionArguments): Promise<void> {
  const place = [vscode.Uri.parse(uri), new vscode.Position(position.line, position.character)];
  const locations = await vscode.commands.executeCommand("vscode.executeReferenceProvider", ...place);
  await vscode.commands.executeCommand("editor.action.showReferences", ...place, locations);
}
