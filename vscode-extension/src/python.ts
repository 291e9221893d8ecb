/** Finds a Python that can run the bundled server. Nothing needs to be installed for it. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";

/** A Python that can run the server; or why there is none, for the user. */
export type FoundPython = { path: string } | { problem: string };

/** What an interpreter tells of itself. */
interface Interpreter {
  path: string;
  implementation: string;
  version: string;
  hasLock: boolean;
}

const ON_PATH =
  process.platform === "win32"
    ? ["python", "python3", "py"]
    : ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11"];

const LONGEST_MS = 15_000;

/**
 * Looks at the setting `xla-lens.server.python`, then at the interpreter that is chosen in the Python extension, then on the
 * PATH. In a workspace that is not trusted only the PATH and the user's own setting count.
 */
export async function findPython(server: string, log: vscode.LogOutputChannel): Promise<FoundPython> {
  const { pythons } = JSON.parse(readFileSync(join(server, "bundle.json"), "utf8")) as { pythons: string[] };
  const wanted = `CPython ${pythons[0]} to ${pythons.at(-1)}`;
  const fits = (found: Interpreter) =>
    found.implementation === "cpython" && found.hasLock && pythons.includes(found.version);

  const setting = vscode.workspace.getConfiguration("xla-lens").get<string>("server.python", "").trim();
  if (setting) {
    const found = await ask(setting, log);
    if (found && fits(found)) return { path: found.path };
    const is = found ? `is ${named(found)}` : "does not run";
    return { problem: `XLA Lens needs ${wanted}, and "${setting}" of the setting xla-lens.server.python ${is}.` };
  }
  const seen: string[] = [];
  for (const candidate of [...(await chosenInPythonExtension(log)), ...ON_PATH]) {
    const found = await ask(candidate, log);
    if (found && fits(found)) return { path: found.path };
    if (found && !seen.includes(named(found))) seen.push(named(found));
  }
  const there = seen.length ? `there is only ${seen.join(", ")}` : "there is none on the PATH";
  return { problem: `XLA Lens needs ${wanted} on this machine, and ${there}. Install one, or tell where it is in the setting xla-lens.server.python.` };
}

function named({ implementation, version, hasLock }: Interpreter): string {
  return `${implementation === "cpython" ? "CPython" : implementation} ${version}${hasLock ? "" : " without its lock"}`;
}

async function chosenInPythonExtension(log: vscode.LogOutputChannel): Promise<string[]> {
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
    log.warn(`the Python extension does not tell its interpreter: ${error}`);
    return [];
  }
}

/** The part that is used of the API of the Python extension. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
  };
}

// Old Pythons must be able to run it, too.
const QUESTION = `
import sys, sysconfig
print(sys.implementation.name)
print("%d.%d" % sys.version_info[:2])
print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)
print(sys.executable)
`;

/** Asks an interpreter what it is; undefined if it does not run. */
function ask(path: string, log: vscode.LogOutputChannel): Promise<Interpreter | undefined> {
  return new Promise((resolve) => {
    execFile(path, ["-I", "-S", "-c", QUESTION], { timeout: LONGEST_MS, windowsHide: true }, (error, stdout) => {
      const [implementation, version, isFree, executable] = stdout.split(/\r?\n/);
      if (error || !implementation || !version) {
        log.debug(`${path} does not run: ${error?.message ?? "no answer"}`);
        resolve(undefined);
        return;
      }
      const found = { path: executable || path, implementation, version, hasLock: isFree !== "1" };
      log.info(`${path}: ${named(found)} at ${found.path}`);
      resolve(found);
    });
  });
}
