import { KeyedMutex } from '../keyed-mutex'

/** Something of the control database that a gateway keeps in memory. */
export interface ControlCopy {
  /** Reads it. What it resolves to takes it over, in one step. */
  read(): Promise<() => void>
}

/**
 * What a gateway has in memory of the control database while other gateways change it, too (ADR 52). It is at least as new as the version that it
 * had when `refresh` was called last.
 */
export class ControlCopies {
  private readonly version: () => Promise<number>
  private readonly copies: ControlCopy[] = []
  private readonly mutex = new KeyedMutex()
  private known: number

  /** `known`: the version from before the copies were read first. */
  constructor(version: () => Promise<number>, known: number) {
    this.version = version
    this.known = known
  }

  add(...copies: readonly ControlCopy[]): void {
    this.copies.push(...copies)
  }

  /** Reads the copies again if the version rose. Rejects if the database does not answer; the copies are then as they were. */
  refresh(): Promise<void> {
    return this.mutex.take('copies', async () => {
      const version = await this.version()
      if (version === this.known) return
      const read = await Promise.all(this.copies.map((copy) => copy.read()))
      for (const takeOver of read) takeOver()
      this.known = version
    })
  }
}
