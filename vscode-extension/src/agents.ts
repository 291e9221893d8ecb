/**
 * Tools for the language models that run in VS Code: four questions about the memory of a program, each answered in a few kilobytes of
 * text with the paths and lines of the program. The server answers only about files of the workspace.
 */

import { basename } from "node:path";
import * as vscode from "vscode";

import type { Server } from "./server";
import type { Sets } from "./sets";

type Question = "memory" | "savings" | "comparison" | "failure";

/** The properties of the input schemas in `package.json`, which VS Code does not enforce. */
const PROPERTIES: Readonly<Record<Question, readonly string[]>> = {
  memory: ["dump"],
  savings: ["dump"],
  comparison: ["old", "new"],
  failure: ["log", "message", "dump"],
};

/** The part of VS Code 1.95 and later that runs tools. The types are those of the oldest version that the extension supports. */
interface LanguageModels {
  registerTool?(
    name: string,
    tool: {
      prepareInvocation(options: { input: unknown }): { invocationMessage: string };
      invoke(options: { input: unknown }, token: vscode.CancellationToken): Promise<unknown>;
    },
  ): vscode.Disposable;
}

interface Results {
  LanguageModelToolResult: new (parts: unknown[]) => unknown;
  LanguageModelTextPart: new (text: string) => unknown;
}

/** Registers the tools, unless VS Code is too old to have any. */
export function registerTools(server: Server, sets: Sets): vscode.Disposable {
  const { registerTool } = (vscode.lm ?? {}) as LanguageModels;
  if (!registerTool) return vscode.Disposable.from();
  const { LanguageModelToolResult: Result, LanguageModelTextPart: Part } = vscode as unknown as Results;
  const tools = (Object.keys(PROPERTIES) as Question[]).map((question) =>
    registerTool(`xla-lens_${question}`, {
      prepareInvocation: ({ input }) => ({ invocationMessage: messageOf(question, given(question, input)) }),
      async invoke({ input }, token) {
        const argument = argumentOf(question, given(question, input), sets);
        const text = await server.execute("xla-lens.brief", argument, token);
        if (text === undefined) throw new Error("The XLA Lens server is not running.");
        return new Result([new Part(text)]);
      },
    }),
  );
  return vscode.Disposable.from(...tools);
}

/** Returns the input of a tool. Throws an error that tells a language model what to change. */
function given(question: Question, input: unknown): Partial<Record<string, string>> {
  const known = PROPERTIES[question];
  const entries = Object.entries(typeof input === "object" && input !== null ? input : {});
  for (const [name, value] of entries) {
    if (!known.includes(name)) throw new Error(`unknown property ${name}: expected ${known.join(", ")}`);
    if (typeof value !== "string") throw new Error(`${name}: expected a string`);
  }
  return Object.fromEntries(entries.filter(([, value]) => value !== "")) as Partial<Record<string, string>>;
}

function messageOf(question: Question, { new: now, log, dump }: Partial<Record<string, string>>): string {
  const path = now ?? log ?? dump;
  return `Reading the ${question}${path === undefined ? "" : ` of ${basename(path)}`} with XLA Lens`;
}

function argumentOf(question: Question, input: Partial<Record<string, string>>, sets: Sets) {
  const at = (name: string) => {
    const path = input[name];
    return path === undefined ? undefined : uriOf(path).toString();
  };
  const need = (name: string) => {
    const uri = at(name);
    if (uri === undefined) throw new Error(`${name} is missing: name a file of a dump or a folder with dumps`);
    return uri;
  };
  if (question === "comparison") return { question, old: need("old"), uri: need("new") };
  // Without a path, the dump in view counts, else the biggest of the workspace.
  const isHere = sets.inView && vscode.workspace.getWorkspaceFolder(sets.inView);
  const inView = isHere ? sets.inView?.toString() : undefined;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (question !== "failure") return { question, uri: at("dump") ?? inView ?? folder?.toString() ?? need("dump") };
  const { message } = input;
  const log = at("log") ?? (message && folder ? vscode.Uri.joinPath(folder, "message").toString() : undefined);
  if (log === undefined) throw new Error("log or message is missing: name the log, or give the text of the message");
  const dump = at("dump") ?? inView;
  return { question, uri: log, ...(message !== undefined && { text: message }), ...(dump !== undefined && { dump }) };
}

/** The URI of a path that a model names: absolute, or relative to the folder of the workspace. */
function uriOf(path: string): vscode.Uri {
  if (/^[/\\]|^[A-Za-z]:[/\\]/.test(path)) return vscode.Uri.file(path);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (!folder) throw new Error(`${path}: there is no workspace, so the path has to be absolute`);
  return vscode.Uri.joinPath(folder, path);
}
