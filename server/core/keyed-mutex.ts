/**
 * One change at a time per name, in the order asked for, so that a change decides on what the one before it left. Changes
 * of different names run side by side.
 */
export class KeyedMutex {
  private readonly last = new Map<string, Promise<unknown>>()

  async take<T>(name: string, change: () => Promise<T>): Promise<T> {
    const before = this.last.get(name) ?? Promise.resolve()
    const mine = before.then(change, change)
    const settled = mine.catch(() => undefined)
    this.last.set(name, settled)
    try {
      return await mine
    } finally {
      if (this.last.get(name) === settled) this.last.delete(name)
    }
  }
}
