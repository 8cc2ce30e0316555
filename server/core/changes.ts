/** Tells others of a change that they must know before it counts as done. */
export class Changes {
  private readonly listeners: (() => Promise<unknown>)[] = []

  listen(listener: () => Promise<unknown>): void {
    this.listeners.push(listener)
  }

  /** Resolves when all have taken it. */
  async happened(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener()))
  }
}
