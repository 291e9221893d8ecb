/**
 * Finds the server: the bundled one and a Python that can run it, which needs no packages, or in an extension without a bundled
 * server the `xla-lens` that is installed on this machine.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

/** The program and arguments that run `xla-lens`. */
interface Command {
  command: string;
  args: string[];
}

/** A server, or a message for the user if there is none. */
type FoundServer = Command | { problem: string };

interface Interpreter {
  path: string;
  /** What it is: `CPython 3.12`, and what it lacks: `CPython 3.13 without the GIL`. */
  name: string;
}

const ON_PATH =
  process.platform === "win32"
    ? ["python", "python3", "py"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

const TIMEOUT_MS = 15_000;

/** Finds what runs the server of the extension in a folder. */
export function findServer(folder: string, log: vscode.LogOutputChannel): Promise<FoundServer> {
  const server = join(folder, "server");
  return existsSync(join(server, "bundle.json")) ? findPython(server, log) : findInstalled(folder, log);
}

const REMEMBERED = "server";

/** What a found server depends on. */
function circumstances({ extensionPath }: vscode.ExtensionContext): string {
  return JSON.stringify([extensionPath, pythonSetting(), process.env.PATH, vscode.workspace.isTrusted]);
}

/** The server that was found last in the same circumstances: while a window opens, asking a Python what it is takes a second. */
export function rememberedServer(context: vscode.ExtensionContext): Command | undefined {
  const known = context.globalState.get<{ found?: Command; at: string }>(REMEMBERED);
  return known?.at === circumstances(context) ? known.found : undefined;
}

/** Remembers the server for the next window, or forgets it. */
export function rememberServer(context: vscode.ExtensionContext, found: Command | undefined): Thenable<void> {
  return context.globalState.update(REMEMBERED, { found, at: circumstances(context) });
}

/** Tries the Python of the setting, the PATH, then the Python selected in the Python extension. The version must be the extension's own. */
async function findInstalled(folder: string, log: vscode.LogOutputChannel): Promise<FoundServer> {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const module = (python: string) => ({ command: python, args: ["-m", "xla_lens"] });
  const setting = pythonSetting();
  const places = setting
    ? [() => [module(setting)]]
    : [
        () => [{ command: "xla-lens", args: [] }],
        async () => (await selectedInPythonExtension(log)).map((python) => module(python)),
      ];
  const others: string[] = [];
  for (const candidates of places) {
    for (const candidate of await candidates()) {
      const found = /^xla-lens (\S+)/.exec(await output(candidate.command, [...candidate.args, "--version"], log))?.[1];
      if (found === version) return candidate;
      if (found) others.push(found);
    }
  }
  const reason = others.length ? `found only version ${others.join(", ")}` : "found none";
  return {
    problem: `This build of the extension needs the command xla-lens ${version} on the PATH or in the selected Python, but ${reason}. Run: pip install xla-lens==${version}`,
  };
}

function pythonSetting(): string {
  return vscode.workspace.getConfiguration("xla-lens").get<string>("server.python", "").trim();
}

/**
 * Tries the setting `xla-lens.server.python`, then the interpreters on the PATH, then the one selected in the Python
 * extension, which may take seconds to activate. In an untrusted workspace, only the user's own setting and the PATH count.
 */
async function findPython(server: string, log: vscode.LogOutputChannel): Promise<FoundServer> {
  const { pythons } = JSON.parse(readFileSync(join(server, "bundle.json"), "utf8")) as { pythons: string[] };
  const supported = `CPython ${pythons[0]} to ${pythons.at(-1)}`;
  const isSupported = ({ name }: Interpreter) => pythons.some((version) => name === `CPython ${version}`);
  const run = ({ path }: Interpreter) => ({ command: path, args: ["-I", "-S", join(server, "start.py")] });

  const setting = pythonSetting();
  if (setting) {
    const found = await inspect(setting, log);
    if (found && isSupported(found)) return run(found);
    const reason = found ? `is ${found.name}` : "does not run";
    return { problem: `XLA Lens needs ${supported}, but "${setting}" (setting xla-lens.server.python) ${reason}.` };
  }
  const rejected: string[] = [];
  for (const candidates of [() => ON_PATH, () => selectedInPythonExtension(log)]) {
    for (const candidate of await candidates()) {
      const found = await inspect(candidate, log);
      if (found && isSupported(found)) return run(found);
      if (found && !rejected.includes(found.name)) rejected.push(found.name);
    }
  }
  const reason = rejected.length ? `found only ${rejected.join(", ")}` : "found none on the PATH";
  return {
    problem: `XLA Lens needs ${supported} on this machine, but ${reason}. Install one, or set xla-lens.server.python to its path.`,
  };
}

/** Returns the interpreter that runs a file of the user: that of the Python extension, else the first on the PATH. */
export async function interpreterFor(uri: vscode.Uri, log: vscode.LogOutputChannel): Promise<string> {
  const [selected] = await selectedInPythonExtension(log, uri);
  return selected ?? (process.platform === "win32" ? "python" : "python3");
}

async function selectedInPythonExtension(log: vscode.LogOutputChannel, uri?: vscode.Uri): Promise<string[]> {
  if (!vscode.workspace.isTrusted) return [];
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (!extension) return [];
  try {
    const { environments } = await extension.activate();
    const resource = uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
    const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(resource));
    const path = environment?.executable.uri?.fsPath;
    return path ? [path] : [];
  } catch (error) {
    log.warn(`could not read the selected interpreter from the Python extension: ${error}`);
    return [];
  }
}

/** The part of the Python extension's API that is used here. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

// Runs on old Pythons too, so that the message can name their version. Imports nothing that takes time.
const SCRIPT = `
import sys
try:
    import _lzma
    lacks = ""
except ImportError:
    lacks = " without the module lzma"
if "free-threading" in sys.version:
    lacks = " without the GIL" + lacks
print("%s|%d.%d|%s|%s" % (sys.implementation.name, sys.version_info[0], sys.version_info[1], lacks, sys.executable))
`;

/** Runs an interpreter to find out what it is; undefined if it does not run. */
async function inspect(path: string, log: vscode.LogOutputChannel): Promise<Interpreter | undefined> {
  const printed = await output(path, ["-I", "-S", "-c", SCRIPT], log);
  const [implementation, version, lacks = "", executable] = printed.trim().split("|");
  if (!implementation || !version) return undefined;
  const name = `${implementation === "cpython" ? "CPython" : implementation} ${version}${lacks}`;
  const found = { path: executable || path, name };
  log.info(`${path}: ${name} at ${found.path}`);
  return found;
}

/** Returns what a program prints, or nothing if it fails. */
function output(path: string, args: string[], log: vscode.LogOutputChannel): Promise<string> {
  return new Promise((resolve) => {
    execFile(path, args, { timeout: TIMEOUT_MS, windowsHide: true }, (error, stdout) => {
      if (error) log.debug(`${path} does not run: ${error.message}`);
      resolve(error ? "" : stdout);
    });
  });
}
