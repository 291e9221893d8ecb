/** The language server: started when it is first needed, and asked what the Language Server Protocol has no words for. */

import { join } from "node:path";
import * as vscode from "vscode";
import {
  type DynamicFeature,
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";

import { PAGE_SCHEME } from "./documents";
import type { DidLoad } from "./protocol";
import { findPython } from "./python";
import { LANGUAGES } from "./recognition";

/** The section of the settings, and the start of the names of commands. */
export const SECTION = "xla-lens";

export class Server implements vscode.Disposable {
  private readonly folder: string;
  private readonly loaded = new vscode.EventEmitter<DidLoad>();
  private readonly started = new vscode.EventEmitter<void>();
  private starting: Promise<LanguageClient | undefined> | undefined;
  private hasFailed = false;

  /** A dump set was loaded, or is not open any more. */
  readonly onDidLoad = this.loaded.event;
  /** The server is there, perhaps again: what it said before is void. */
  readonly onDidStart = this.started.event;

  constructor(
    context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.folder = join(context.extensionPath, "server");
  }

  /**
   * Runs a command of the server, which is started if need be. Undefined if there is no server, which the user was told of.
   * Throws what the server says where it cannot answer.
   */
  async ask<Answer>(command: string, argument: object): Promise<Answer | undefined> {
    const client = await this.start();
    return client?.sendRequest(ExecuteCommandRequest.type, { command: `${SECTION}.${command}`, arguments: [argument] });
  }

  /** Starts the server, if it is not there. After a failure it is not tried again until `restart`. */
  start(): Promise<LanguageClient | undefined> {
    this.starting ??= this.launch();
    return this.starting;
  }

  /** Ends the server, and starts it again. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** After a setting has changed: tries again if there is no server. */
  async retry(): Promise<void> {
    if (this.starting) await this.restart();
  }

  dispose(): void {
    void this.stop();
    this.loaded.dispose();
    this.started.dispose();
  }

  private async stop(): Promise<void> {
    const client = await this.starting;
    this.starting = undefined;
    this.hasFailed = false;
    // One that does not end by itself must not keep a new one from starting.
    await client?.dispose().catch((error: unknown) => this.log.warn(`the server did not end well: ${error}`));
  }

  private async launch(): Promise<LanguageClient | undefined> {
    const python = await findPython(this.folder, this.log);
    if ("problem" in python) {
      this.tell(python.problem);
      return undefined;
    }
    const client = new LanguageClient(
      SECTION,
      "XLA Lens",
      { command: python.path, args: ["-I", "-S", join(this.folder, "start.py"), "server"], options: { cwd: this.folder } },
      this.options(),
    );
    client.registerFeature(TELLS_LOADED);
    client.onNotification("xla-lens/didLoad", (told: DidLoad) => this.loaded.fire(told));
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) this.started.fire();
    });
    try {
      await client.start();
    } catch (error) {
      this.tell(`The server of XLA Lens does not start: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
    return client;
  }

  private options(): LanguageClientOptions {
    return {
      // Pages have no language of their own.
      documentSelector: [...LANGUAGES.map((language) => ({ scheme: "file", language })), { scheme: PAGE_SCHEME }],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      synchronize: { configurationSection: SECTION },
      middleware: {
        async executeCommand(command, args, next) {
          // No request can fill the editor's list of references, but a command of the editor can.
          if (command === `${SECTION}.showReferences`) return showReferences(args[0]);
          return next(command, args);
        },
      },
    };
  }

  private tell(problem: string): void {
    this.log.error(problem);
    if (this.hasFailed) return;
    this.hasFailed = true;
    const [settings, log] = ["Open Setting", "Show Log"];
    void vscode.window.showErrorMessage(problem, settings, log).then((choice) => {
      if (choice === settings) void vscode.commands.executeCommand("workbench.action.openSettings", `${SECTION}.server.python`);
      if (choice === log) this.log.show();
    });
  }
}

/** Has the server tell which sets it has loaded. */
const TELLS_LOADED: StaticFeature | DynamicFeature<unknown> = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = { ...(capabilities.experimental as object), xlaLens: { didLoad: true } };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};

async function showReferences({ uri, position }: { uri: string; position: { line: number; character: number } }): Promise<void> {
  const [document, place] = [vscode.Uri.parse(uri), new vscode.Position(position.line, position.character)];
  const locations = await vscode.commands.executeCommand<vscode.Location[]>("vscode.executeReferenceProvider", document, place);
  await vscode.commands.executeCommand("editor.action.showReferences", document, place, locations);
}
