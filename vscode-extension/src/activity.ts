/** What the server is doing: starting, reading dumps, or nothing, because it cannot run. */

/** The progress of a task, as the Language Server Protocol reports it. */
interface Progress {
  title?: string;
  message?: string;
  percentage?: number;
}

export interface Task {
  title: string;
  /** What is done so far, such as "2 of 9". */
  message: string;
  /** The percentage, or else the message. */
  text: string;
}

/** Why the server does not run. */
export interface Problem {
  kind: "noPython" | "stopped";
  text: string;
}

export class Activity {
  private readonly tasks = new Map<unknown, Task>();
  private failure: Problem | undefined;

  /** `changed` is called when `current` has changed. */
  constructor(private readonly changed: () => void) {}

  /** The task that began last and has not ended, undefined if the server is idle. */
  get current(): Task | undefined {
    return [...this.tasks.values()].at(-1);
  }

  /** Why the server does not run, undefined if it does or has not been needed yet. */
  get problem(): Problem | undefined {
    return this.failure;
  }

  set problem(problem: Problem | undefined) {
    if (this.failure?.text === problem?.text) return;
    this.failure = problem;
    this.changed();
  }

  begin(key: unknown, text: string): void {
    this.tasks.set(key, { title: "", message: "", text });
    this.changed();
  }

  /** Begins a task or updates it. */
  progress(key: unknown, { title, message, percentage }: Progress): void {
    const known = this.tasks.get(key);
    const text = percentage === undefined ? (message ?? known?.text ?? "reading…") : `${Math.floor(percentage)}%`;
    this.tasks.set(key, { title: title ?? known?.title ?? "", message: message ?? known?.message ?? "", text });
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
