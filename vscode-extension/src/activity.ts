/** What the server is doing: starting, reading dumps, or nothing, because it cannot run. */

/** The progress of a task, as the Language Server Protocol reports it. */
export interface Task {
  title?: string;
  /** What is done so far, such as "2 of 9". */
  message?: string;
  percentage?: number;
}

/** Return how far a task is, in short: its percentage, or else its message. */
export function progressOf({ message = "reading…", percentage }: Task): string {
  return percentage === undefined ? message : `${Math.floor(percentage)}%`;
}

/** Why the server does not run. */
export interface Problem {
  kind: "noPython" | "stopped";
  text: string;
}

export class Activity {
  private readonly tasks = new Map<unknown, Task>();

  /** Why the server does not run, undefined if it does or has not been needed yet. */
  problem: Problem | undefined;

  /** `changed` is called when the current task or the problem has changed. */
  constructor(private readonly changed: () => void) {}

  /** The task that began last and has not ended, undefined if the server is idle. */
  get current(): Task | undefined {
    return [...this.tasks.values()].at(-1);
  }

  /** Says why the server does not run, or undefined: it may run. */
  fail(problem: Problem | undefined): void {
    const isSame = this.problem?.text === problem?.text;
    this.problem = problem;
    if (!isSame) this.changed();
  }

  /** Begins a task or updates it. */
  progress(key: unknown, progress: Task): void {
    this.tasks.set(key, { ...this.tasks.get(key), ...progress });
    this.changed();
  }

  end(key: unknown): void {
    if (this.tasks.delete(key)) this.changed();
  }

  /** Ends all tasks: the server has stopped. */
  clear(): void {
    this.tasks.clear();
    this.changed();
  }
}
