import type { Clock } from '../../core/clock'
import type { OutboundProblem } from '../../core/outbound/outbound-fetch'
import type { Result } from '../../core/result'

/** The addresses of a host, all of which may be connected to. */
export type CheckedAddresses = Result<readonly string[], OutboundProblem>

interface Entry {
  readonly until: number
  readonly lookUp: Promise<CheckedAddresses>
  /** Null while it is looked up. */
  found: CheckedAddresses | null
}

/** As long as Bun itself remembers what a name resolved to. */
const MAX_AGE_MS = 30_000
const MAX_ORIGINS = 1000

/**
 * Remembers the checked addresses of origins for 30 seconds, so that the calls in a row of one upstream share a look-up and find the connections
 * of each other. Only what passed the check is remembered: where a name leads next is checked like the first time.
 */
export class AddressBook {
  private readonly entries = new Map<string, Entry>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Addresses that were looked up in the last 30 seconds, or null. */
  remembered(origin: string): CheckedAddresses | null {
    return this.current(origin)?.found ?? null
  }

  /** Looks the addresses up, once for all who need them meanwhile. */
  find(origin: string, lookUp: () => Promise<CheckedAddresses>): Promise<CheckedAddresses> {
    const current = this.current(origin)
    if (current) return current.lookUp
    const entry: Entry = { until: this.clock.now() + MAX_AGE_MS, lookUp: lookUp(), found: null }
    this.entries.delete(origin)
    const [oldest] = this.entries.keys()
    if (oldest !== undefined && this.entries.size >= MAX_ORIGINS) this.entries.delete(oldest)
    this.entries.set(origin, entry)
    const failed = () => {
      if (this.entries.get(origin) === entry) this.entries.delete(origin)
    }
    entry.lookUp.then((found) => {
      if (found.ok) entry.found = found
      else failed()
    }, failed)
    return entry.lookUp
  }

  /** Makes the next call look the addresses up again, because they could not be reached. */
  forget(origin: string): void {
    this.entries.delete(origin)
  }

  private current(origin: string): Entry | null {
    const entry = this.entries.get(origin)
    return entry && this.clock.now() < entry.until ? entry : null
  }
}
