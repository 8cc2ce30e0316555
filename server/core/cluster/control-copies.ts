import { KeyedMutex } from '../keyed-mutex'

/** A part of the control database that a gateway keeps in memory. */
export interface ControlCopy {
  /** Reads it. Resolves to a function that applies what was read, in one step. */
  read(): Promise<() => void>
}

/**
 * The parts of the control database that a gateway keeps in memory while other gateways change them (ADR 52). They are at least as new as the database
 * was at the last call of `refresh`.
 */
export class ControlCopies {
  private readonly version: () => Promise<number>
  private readonly copies: ControlCopy[] = []
  private readonly mutex = new KeyedMutex()
  private known: number

  /** `known`: the version before the copies were first read. */
  constructor(version: () => Promise<number>, known: number) {
    this.version = version
    this.known = known
  }

  add(...copies: readonly ControlCopy[]): void {
    this.copies.push(...copies)
  }

  /** Reads the copies again if the version rose. Rejects if the database does not answer; the copies then stay as they were. */
  refresh(): Promise<void> {
    return this.mutex.take('copies', async () => {
      const version = await this.version()
      if (version === this.known) return
      const read = await Promise.all(this.copies.map((copy) => copy.read()))
      for (const apply of read) apply()
      this.known = version
    })
  }
}
