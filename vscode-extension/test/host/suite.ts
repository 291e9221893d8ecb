/** Tests that run inside the extension host of VS Code: what they are, and what comes of them. */

import { writeFile } from "node:fs/promises";

/** How long anything may take at most. */
const MILLISECONDS = 60_000;

type Body = () => Promise<void>;

const tests = new Map<string, Body>();

/** Adds a test. Its name is a literal: tests/editors/test_vscode_host.py reads them from the files. */
export function test(name: string, body: Body): void {
  if (tests.has(name)) {
    throw new Error(`there are two tests named ${name}`);
  }
  tests.set(name, body);
}

/** Runs all tests, one after the other, and writes of each how it failed, or null. */
export async function runTests(): Promise<void> {
  const failures: Record<string, string | null> = {};
  for (const [name, body] of tests) {
    failures[name] = await failureOf(body);
  }
  const path = process.env.XLA_LENS_HOST_RESULTS;
  if (!path) {
    throw new Error("XLA_LENS_HOST_RESULTS does not say where the results go");
  }
  await writeFile(path, JSON.stringify(failures));
}

async function failureOf(body: Body): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${MILLISECONDS} ms`)), MILLISECONDS);
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

/** Asks again and again until the answer is right; gives it. */
export async function eventually<T>(ask: () => T | Thenable<T>, isRight: (answer: T) => boolean): Promise<T> {
  const end = Date.now() + MILLISECONDS - 5_000;
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
