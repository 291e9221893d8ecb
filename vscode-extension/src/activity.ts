/** What the server is doing: starting, or reading dumps. */

/** The progress of a task, as the Language Server Protocol reports it. */
interface Progress {
  title?: string;
  message?: string;
  percentage?: number;
}

interface Task {
  title: string;
  text: string;
}

export class Activity {
  private readonly tasks = new Map<unknown, Task>();

  /** `changed` is called when `current` has changed. */
  constructor(private readonly changed: () => void) {}

  /** The task that began last and has not ended, undefined if the server is idle. */
  get current(): Task | undefined {
    return [...this.tasks.values()].at(-1);
  }

  begin(key: unknown, text: string): void {
    this.tasks.set(key, { title: "", text });
    this.changed();
  }

  /** Begins a task or updates it. */
  progress(key: unknown, { title, message, percentage }: Progress): void {
    const known = this.tasks.get(key);
    const text = percentage === undefined ? (message ?? known?.text ?? "reading…") : `${Math.floor(percentage)}%`;
    this.tasks.set(key, { title: title ?? known?.title ?? "", text });
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
