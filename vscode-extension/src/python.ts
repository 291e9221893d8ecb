/** Finds a Python that can run the bundled server. The server needs no packages of that Python. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

/** The path of a Python that can run the server, or a message for the user if there is none. */
export type FoundPython = { path: string } | { problem: string };

interface Interpreter {
  path: string;
  implementation: string;
  version: string;
  hasGil: boolean;
}

const ON_PATH =
  process.platform === "win32"
    ? ["python", "python3", "py"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

const TIMEOUT_MS = 15_000;

/**
 * Tries the setting `xla-lens.server.python`, then the interpreters on the PATH, then the one selected in the Python
 * extension, which may take seconds to activate. In an untrusted workspace, only the user's own setting and the PATH count.
 */
export async function findPython(server: string, log: vscode.LogOutputChannel): Promise<FoundPython> {
  const { pythons } = JSON.parse(readFileSync(join(server, "bundle.json"), "utf8")) as { pythons: string[] };
  const supported = `CPython ${pythons[0]} to ${pythons.at(-1)}`;
  const isSupported = ({ implementation, version, hasGil }: Interpreter) =>
    implementation === "cpython" && hasGil && pythons.includes(version);

  const setting = vscode.workspace.getConfiguration("xla-lens").get<string>("server.python", "").trim();
  if (setting) {
    const found = await inspect(setting, log);
    if (found && isSupported(found)) return { path: found.path };
    const reason = found ? `is ${nameOf(found)}` : "does not run";
    return { problem: `XLA Lens needs ${supported}, but "${setting}" (setting xla-lens.server.python) ${reason}.` };
  }
  const rejected: string[] = [];
  for (const candidates of [() => ON_PATH, () => selectedInPythonExtension(log)]) {
    for (const candidate of await candidates()) {
      const found = await inspect(candidate, log);
      if (found && isSupported(found)) return { path: found.path };
      if (found && !rejected.includes(nameOf(found))) rejected.push(nameOf(found));
    }
  }
  const reason = rejected.length ? `found only ${rejected.join(", ")}` : "found none on the PATH";
  return {
    problem: `XLA Lens needs ${supported} on this machine, but ${reason}. Install one, or set xla-lens.server.python to its path.`,
  };
}

function nameOf({ implementation, version, hasGil }: Interpreter): string {
  const name = implementation === "cpython" ? "CPython" : implementation;
  return `${name} ${version}${hasGil ? "" : " without the GIL"}`;
}

async function selectedInPythonExtension(log: vscode.LogOutputChannel): Promise<string[]> {
  if (!vscode.workspace.isTrusted) return [];
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (!extension) return [];
  try {
    const { environments } = await extension.activate();
    const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
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
print(sys.implementation.name)
print("%d.%d" % sys.version_info[:2])
print(int("free-threading" in sys.version))
print(sys.executable)
`;

/** Runs an interpreter to find out what it is; undefined if it does not run. */
function inspect(path: string, log: vscode.LogOutputChannel): Promise<Interpreter | undefined> {
  return new Promise((resolve) => {
    execFile(path, ["-I", "-S", "-c", SCRIPT], { timeout: TIMEOUT_MS, windowsHide: true }, (error, stdout) => {
      const [implementation, version, isFreeThreaded, executable] = stdout.split(/\r?\n/);
      if (error || !implementation || !version) {
        log.debug(`${path} does not run: ${error?.message ?? "no answer"}`);
        resolve(undefined);
        return;
      }
      const found = { path: executable || path, implementation, version, hasGil: isFreeThreaded !== "1" };
      log.info(`${path}: ${nameOf(found)} at ${found.path}`);
      resolve(found);
    });
  });
}
