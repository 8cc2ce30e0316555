/**
 * Runs one task at a time per name, first come, first served, so that each task sees the result of the one before. Tasks of
 * different names run concurrently.
 */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>()

  async take<T>(name: string, task: () => Promise<T>): Promise<T> {
    const previous = this.last.get(name) ?? Promise.resolve()
    const current = previous.then(task, task)
    const settled = current.catch(() => undefined)
    this.last.set(name, settled)
    try {
      return await current
    } finally {
      if (this.last.get(name) === settled) this.last.delete(name)
    }
  }
}
