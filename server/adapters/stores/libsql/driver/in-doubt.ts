/**
 * Rows in memory whose change failed, so that memory and tables may differ: the write may have been committed although its answer was
 * lost. It is read again before it is used.
 */
export class InDoubt<Id extends string> {
  private readonly settled: () => Promise<void>
  private readonly readAgain: (ids: readonly Id[]) => Promise<void>
  /** With the change that failed last, so that a read from before it does not count. */
  private readonly ids = new Map<Id, object>()
  private reading: Promise<void> | null = null

  /**
   * `settled` resolves when no write whose outcome is unknown can be committed any more. `readAgain` reads these from the tables into memory.
   */
  constructor(settled: () => Promise<void>, readAgain: (ids: readonly Id[]) => Promise<void>) {
    this.settled = settled
    this.readAgain = readAgain
  }

  has(id: Id): boolean {
    return this.ids.size > 0 && this.ids.has(id)
  }

  /** Does a change of these. Rejects as it does. */
  async changing<T>(ids: readonly Id[], write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      for (const id of ids) this.ids.set(id, {})
      throw error
    }
  }

  /** Resolves when nothing is in doubt. Rejects while the database does not answer. */
  async resolve(): Promise<void> {
    while (this.ids.size > 0) {
      this.reading ??= this.read().finally(() => (this.reading = null))
      await this.reading
    }
  }

  private async read(): Promise<void> {
    const doubts = [...this.ids]
    await this.settled()
    await this.readAgain(doubts.map(([id]) => id))
    for (const [id, doubt] of doubts) if (this.ids.get(id) === doubt) this.ids.delete(id)
  }
}
