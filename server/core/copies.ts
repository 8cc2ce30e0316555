/** Rows that are all in memory, such as prices. */
export interface Copy {
  /** Reads them. Resolves to a function that applies what was read, in one step. */
  read(): Promise<() => void>
}

const RETRY_MS = 250

/** The tables that are in memory as a whole. They are read again after a write of them failed, because it may have been committed nevertheless. */
export class Copies {
  private readonly copies: Copy[] = []
  private readonly settled: () => Promise<void>
  private isDoubtful = false
  private isReading = false
  private isClosed = false

  /** `settled` resolves when no write of unknown outcome can be committed any more. */
  constructor(settled: () => Promise<void>) {
    this.settled = settled
  }

  /** Reads these for the first time. */
  async add(...copies: readonly Copy[]): Promise<void> {
    for (const copy of copies) (await copy.read())()
    this.copies.push(...copies)
  }

  /** A write failed, and its outcome is unknown: reads all of them until the database answers. */
  doubt(): void {
    this.isDoubtful = true
    if (!this.isReading) void this.readAgain()
  }

  close(): void {
    this.isClosed = true
  }

  private async readAgain(): Promise<void> {
    this.isReading = true
    while (this.isDoubtful && !this.isClosed) {
      this.isDoubtful = false
      await this.read().catch(async () => {
        this.isDoubtful = true
        await Bun.sleep(RETRY_MS)
      })
    }
    this.isReading = false
  }

  private async read(): Promise<void> {
    await this.settled()
    const read = await Promise.all(this.copies.map((copy) => copy.read()))
    for (const apply of read) apply()
  }
}
