/**
 * Finds the server: the bundled one and a Python that can run it, which needs no packages, or in an extension without a bundled
 * server the `xla-lens` that is installed on this machine. Also offers its command line in the editor's terminals.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import * as vscode from "vscode";

/** The program and arguments that run `xla-lens`. */
interface Command {
  command: string;
  args: string[];
}

/** A server, or a message for the user if there is none. */
type FoundServer = Command | { problem: string };

const ON_PATH =
  process.platform === "win32"
    ? ["python", "python3", "py"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

const TIMEOUT_MS = 15_000;

/** How to find a server among the programs of this machine. */
interface Search {
  onPath: readonly string[];
  needs: string;
  remedy: string;
  /** What a program is, empty if it does not run, and the command if it is a server. */
  inspect(program: string): Promise<{ name: string; command?: Command }>;
}

/**
 * Tries the setting `xla-lens.server.python`, then the programs on the PATH, then the Python selected in the Python
 * extension, which may take seconds to activate. In an untrusted workspace, only the user's own setting and the PATH count.
 */
export async function findServer(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<FoundServer> {
  const server = join(context.extensionPath, "server");
  const search = existsSync(join(server, "bundle.json")) ? bundled(context, server, log) : installed(context, log);
  const setting = pythonSetting();
  const others = new Set<string>();
  for (const programs of setting ? [() => [setting]] : [() => search.onPath, () => selectedInPythonExtension(log)]) {
    for (const program of await programs()) {
      const { name, command } = await search.inspect(program);
      if (command) return command;
      if (name) others.add(name);
    }
  }
  const found = [...others].join(", ");
  const reason = setting
    ? `"${setting}" (setting xla-lens.server.python) ${found ? `is ${found}` : "does not run"}`
    : `found ${found ? `only ${found}` : "none on the PATH"}`;
  return { problem: `${search.needs}, but ${reason}. ${search.remedy}` };
}

/** A Python that runs the bundled server. */
function bundled({ globalStorageUri }: vscode.ExtensionContext, server: string, log: vscode.LogOutputChannel): Search {
  const bundle = JSON.parse(readFileSync(join(server, "bundle.json"), "utf8")) as { pythons: string[]; digest: string };
  const supported = bundle.pythons.map((version) => `CPython ${version}`);
  const args = ["-I", "-S", join(server, "start.py"), join(globalStorageUri.fsPath, bundle.digest)];
  return {
    onPath: ON_PATH,
    needs: `XLA Lens needs ${supported[0]} to ${bundle.pythons.at(-1)}`,
    remedy: "Install one, or set xla-lens.server.python to its path.",
    async inspect(program) {
      const { path, name } = await inspect(program, log);
      return supported.includes(name) ? { name, command: { command: path, args } } : { name };
    },
  };
}

/** The `xla-lens` on the PATH or in a Python, of the extension's own version. */
function installed({ extension }: vscode.ExtensionContext, log: vscode.LogOutputChannel): Search {
  const { version } = extension.packageJSON as { version: string };
  return {
    onPath: ["xla-lens"],
    needs: `This build of the extension needs the command xla-lens ${version} on the PATH or in the selected Python`,
    remedy: `Run: pip install xla-lens==${version}`,
    async inspect(program) {
      const command = { command: program, args: program === "xla-lens" ? [] : ["-m", "xla_lens"] };
      const name = (await output(program, [...command.args, "--version"], log)).trim();
      return name === `xla-lens ${version}` ? { name, command } : { name };
    },
  };
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

function pythonSetting(): string {
  return vscode.workspace.getConfiguration("xla-lens").get<string>("server.python", "").trim();
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
print("%s %d.%d%s|%s" % ((sys.implementation.name,) + sys.version_info[:2] + (lacks, sys.executable)))
`;

/** Runs an interpreter to find out what it is: `CPython 3.13 without the GIL`, empty if it does not run. */
async function inspect(program: string, log: vscode.LogOutputChannel): Promise<{ path: string; name: string }> {
  const printed = await output(program, ["-I", "-S", "-c", SCRIPT], log);
  const [name = "", path] = printed
    .trim()
    .replace(/^cpython /, "CPython ")
    .split("|");
  if (name) log.info(`${program}: ${name} at ${path}`);
  return { path: path || program, name };
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

/**
 * Writes a program `xla-lens` that runs the command of the server, and adds its folder to the end of the PATH of new
 * terminals, so that an installed `xla-lens` counts more.
 */
export async function offerInTerminals(
  { globalStorageUri, environmentVariableCollection: variables }: vscode.ExtensionContext,
  command: readonly string[],
): Promise<void> {
  const folder = join(globalStorageUri.fsPath, "bin");
  await mkdir(folder, { recursive: true });
  if (process.platform === "win32") {
    await writeFile(join(folder, "xla-lens.cmd"), `@${command.map((word) => `"${word}"`).join(" ")} %*\r\n`);
  } else {
    const program = join(folder, "xla-lens");
    const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    await writeFile(program, `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`);
    await chmod(program, 0o755);
  }
  variables.description = "Adds `xla-lens` to the `PATH`";
  variables.append("PATH", delimiter + folder);
}
