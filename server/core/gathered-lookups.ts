import { inTime } from './in-time'

/** The most that one read is asked for. */
const MAX_AT_ONCE = 1_000
/** Between two reads, so that a flood costs the database a bounded part of its time. One that comes alone does not wait. */
const PAUSE_MS = 5
/** As long as a caller waits for the commit of its charge. */
const MAX_WAIT_MS = 10_000

/** The database does not answer. Callers get a 503 (core/unavailable.ts). */
class LookupLate extends Error {
  readonly unavailable = true

  constructor(waitedMs: number) {
    super(`a lookup was not answered within ${waitedMs / 1000} s`)
  }
}

interface Waiting<V> {
  readonly resolve: (found: V | null) => void
  readonly reject: (reason: unknown) => void
}

/** Looks up by one read what is asked for while the read before it runs, so that a flood of names costs few reads. */
export class GatheredLookups<V> {
  private readonly read: (names: readonly string[]) => Promise<ReadonlyMap<string, V>>
  private waiting = new Map<string, Waiting<V>[]>()
  private isReading = false
  private readonly pause: (ms: number) => Promise<void>
  private readonly maxWaitMs: number

  /** `read` resolves to what it found; a name that it did not find is missing. */
  constructor(
    read: (names: readonly string[]) => Promise<ReadonlyMap<string, V>>,
    pause: (ms: number) => Promise<void> = Bun.sleep,
    maxWaitMs = MAX_WAIT_MS,
  ) {
    this.read = read
    this.pause = pause
    this.maxWaitMs = maxWaitMs
  }

  /** Null if it is not found. Never answers with what was read before the call. Rejects if its read does, or as unavailable after 10 s. */
  of(name: string): Promise<V | null> {
    const { promise, resolve, reject } = Promise.withResolvers<V | null>()
    const one = { resolve, reject }
    const same = this.waiting.get(name)
    if (same) same.push(one)
    else this.waiting.set(name, [one])
    if (!this.isReading) void this.run()
    return inTime(promise, this.maxWaitMs, () => {
      this.forget(name, one)
      return new LookupLate(this.maxWaitMs)
    })
  }

  /** Abandoned names would pile up while nothing answers. */
  private forget(name: string, gone: Waiting<V>): void {
    const others = this.waiting.get(name)?.filter((one) => one !== gone) ?? []
    if (others.length > 0) this.waiting.set(name, others)
    else this.waiting.delete(name)
  }

  private async run(): Promise<void> {
    this.isReading = true
    while (this.waiting.size > 0) {
      const batch = [...this.waiting].slice(0, MAX_AT_ONCE)
      for (const [name] of batch) this.waiting.delete(name)
      try {
        const found = await this.read(batch.map(([name]) => name))
        for (const [name, asking] of batch) for (const { resolve } of asking) resolve(found.get(name) ?? null)
      } catch (error) {
        for (const [, asking] of batch) for (const { reject } of asking) reject(error)
      }
      await this.pause(PAUSE_MS)
    }
    this.isReading = false
  }
}
