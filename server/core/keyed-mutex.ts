/**
 * Runs one task at a time per name, first come, first served, so that each task sees the result of the one before. Tasks of
 * different names run concurrently.
 */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>()

  /** Runs the task, at once if there is none before it. */
  async take<T>(name: string, task: () => Promise<T>): Promise<T> {
    const previous = this.last.get(name)
    const current = previous === undefined ? task() : previous.then(task, task)
    this.last.set(name, current)
    try {
      return await current
    } finally {
      if (this.last.get(name) === current) this.last.delete(name)
    }
  }
}
