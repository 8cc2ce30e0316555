import { type Clock, SECOND_MS } from '../../../core/clock'
import type { LogEnd } from '../../../core/ledger/log-copy'
import { reasonOf } from '../../../core/result'
import type { Sealing } from '../../../core/sealing'
import { LEASE_MS, Lease, type LeaseRow, takeLease } from './lease'
import { LogConnection } from './log-connection'
import { groupsOf, knownLease } from './log-reader'

/** What a standby knows about its copy. */
export interface CopyState {
  /** For how long the primary went on without the copy having the same; null: unknown. */
  readonly lagSeconds: number | null
  /** Why this standby would not take over. */
  readonly problem: string | null
}

export interface Succession {
  readonly installation: string
  readonly holder: string
  /** Ends the renewals, which keep the lease until the start takes it as that of this folder. */
  release(): Promise<void>
}

interface Parts {
  readonly url: string
  readonly sealing: Sealing
  readonly acceptsFailover: boolean
  readonly leaseMs?: number
  readonly clock: Clock
  /** The last group of the copy, and its last transaction; null while there is no copy. */
  readonly copyEnd: () => Promise<(LogEnd & { readonly transaction: number }) | null>
  readonly onState: (state: CopyState) => void
}

const LOOK_MS = 5_000
/** While nobody renews the lease. */
const FREE_LOOK_MS = 1_000
/** A copy that is older lacks prices and settings that nobody should lose by a program's decision. */
const MAX_LAG_SECONDS = 60
/** From PostgreSQL's: entries and budgets get the time of this machine. */
const MAX_CLOCK_MS = 2 * SECOND_MS
const LAG = `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
  coalesce(extract(epoch FROM until - make_interval(secs => $1) - at), 0)::float8 AS lag
  FROM gateway_lease LEFT JOIN gateway_log ON number = $2`

/** Whose the log is now. */
export async function currentLease(url: string): Promise<LeaseRow> {
  const connection = await LogConnection.open(url)
  try {
    return await knownLease(connection)
  } finally {
    connection.destroy()
  }
}

/**
 * Waits until nobody renews the lease and takes it, if the log continues the copy. From then on the older primary appends nothing. Throws when
 * PostgreSQL does not answer.
 */
export async function succeed(parts: Parts): Promise<Succession> {
  const { url, leaseMs: ms = LEASE_MS } = parts
  const connection = await LogConnection.open(url)
  try {
    const { installation } = await knownLease(connection)
    const holder = crypto.randomUUID()
    const look = looker(connection, parts, ms)
    const { sentAt } = await takeLease(connection, {
      installation,
      holder,
      ended: [],
      ms,
      patienceMs: Number.POSITIVE_INFINITY,
      look,
    })
    const nothing = () => undefined
    // Whether it is lost, the start finds out: it takes the lease only from this holder.
    const lease = new Lease({ url, holder, ms, sentAt, onLost: nothing, upkeep: async () => undefined })
    return { installation, holder, release: () => lease.release(null) }
  } finally {
    connection.destroy()
  }
}

/** Says from time to time how far the copy is, and whether the lease may be taken with it when that is free. */
function looker(connection: LogConnection, parts: Parts, ms: number) {
  let [lookedAt, isProven] = [Number.NEGATIVE_INFINITY, false]
  let givenUpAt: number | null = null
  return async (row: LeaseRow, isFree: boolean): Promise<boolean> => {
    if (row.given_up === null) givenUpAt = null
    else givenUpAt ??= performance.now()
    const pauseMs = givenUpAt !== null ? 0 : isFree || !isProven ? FREE_LOOK_MS : LOOK_MS
    if (performance.now() - lookedAt < pauseMs) return false
    lookedAt = performance.now()
    let lagSeconds: number | null = null
    try {
      const end = await parts.copyEnd()
      if (end === null) throw new Error('there is no copy yet')
      // It comes within a second, unless this is the copy of another place.
      if (givenUpAt !== null && end.transaction < (row.given_up ?? 0) && performance.now() - givenUpAt < ms)
        return false
      const sentAt = parts.clock.now()
      const [found] = await connection.rows<{ lag: number; now: number }>(LAG, [ms / 1000, end.number + 1])
      lagSeconds = Math.max(0, found?.lag ?? 0)
      // Once in advance: the keys may be others, or the copy that of another gateway.
      if (isFree || !isProven) await groupsOf(connection, row, parts, end)
      isProven = true
      const off = clockOff(found?.now ?? 0, sentAt, parts.clock.now())
      if (off > MAX_CLOCK_MS)
        throw new Error(`the clock of this machine is ${Math.round(off / SECOND_MS)} s off that of PostgreSQL: set it`)
      if (lagSeconds > MAX_LAG_SECONDS)
        throw new Error(`the copy is ${Math.round(lagSeconds)} s behind: is Litestream running on the primary?`)
      parts.onState({ lagSeconds, problem: null })
      return true
    } catch (error) {
      if (!connection.isOpen) throw error
      parts.onState({ lagSeconds, problem: reasonOf(error) })
      return false
    }
  }
}

/** By how much a time of another clock, read between two of this one, lies outside of them. */
function clockOff(other: number, before: number, after: number): number {
  return Math.max(before - other, other - after, 0)
}
