/** A minimal test runner for the extension host of VS Code. */

import { writeFile } from "node:fs/promises";

/** The timeout of a test. */
const TIMEOUT_MS = 60_000;

type Body = () => Promise<void>;

const tests = new Map<string, Body>();

/** Add a test. Its name has to be a literal: tests/editors/vscode/test_host.py reads the names from the source. */
export function test(name: string, body: Body): void {
  if (tests.has(name)) {
    throw new Error(`there are two tests named ${name}`);
  }
  tests.set(name, body);
}

/** Run all tests in order, and write how each failed, null for success, to a file. */
export async function runTests(): Promise<void> {
  const failures: Record<string, string | null> = {};
  for (const [name, body] of tests) {
    failures[name] = await failureOf(body);
  }
  const path = process.env.XLA_LENS_HOST_RESULTS;
  if (!path) {
    throw new Error("XLA_LENS_HOST_RESULTS has to name the file for the results");
  }
  await writeFile(path, JSON.stringify(failures));
}

async function failureOf(body: Body): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  });
  try {
    await Promise.race([body(), timeout]);
    return null;
  } catch (failure) {
    return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
  } finally {
    clearTimeout(timer);
  }
}

/** Poll until the answer is right, and return it. */
export async function eventually<T>(ask: () => T | Thenable<T>, isRight: (answer: T) => boolean): Promise<T> {
  const end = Date.now() + TIMEOUT_MS - 5_000;
  for (;;) {
    const answer = await ask();
    if (isRight(answer)) {
      return answer;
    }
    if (Date.now() > end) {
      throw new Error(`still ${JSON.stringify(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
