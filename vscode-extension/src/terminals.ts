/** The command `xla-lens` in the editor's terminals, so that what explanations advise can be run there. */

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type * as vscode from "vscode";

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
