import { LogConnection, UnusableLog } from './log-connection'

/** By the server's clock from each renewal on. A fifth of it passes between two renewals. */
export const LEASE_MS = 5_000
/** The part of the lease that does not count, for clocks of different speed. */
const MARGIN = 0.1

export interface LeaseRow {
  readonly epoch: number
  readonly installation: string
  readonly system: string
  readonly timeline: string
  readonly until: string
  readonly holder: string
  /** The transaction up to which the copy of the tables has everything, of a process that ended well; null: it was not given up. */
  readonly given_up: number | null
  readonly base_number: number
  readonly base_chain: string
}

const ROW = `SELECT epoch::float8 AS epoch, installation, system, timeline, holder, until::text AS until, given_up::float8 AS given_up,
  base_number::float8 AS base_number, base_chain FROM gateway_lease`
const until = (ms: number) => `clock_timestamp() + interval '${ms} milliseconds'`

export async function leaseRow(connection: LogConnection): Promise<LeaseRow | null> {
  const [row] = await connection.rows<LeaseRow>(ROW)
  return row ?? null
}

interface Taken {
  readonly epoch: number
  /** When the statement was sent, on this process's clock. */
  readonly sentAt: number
}

/**
 * Takes a lease that one of `ended`, who are known to have ended, held, that was given up, or that ran out by the server's clock and was not renewed
 * for its whole time by this one's. Throws `UnusableLog` if another process renews it for longer than `patienceMs`. `look` sees each state of it, whether it is
 * free, and may refuse to take it then.
 */
export async function takeLease(
  connection: LogConnection,
  parts: {
    installation: string
    holder: string
    ended: readonly string[]
    ms: number
    patienceMs?: number
    look?: (row: LeaseRow, isFree: boolean) => Promise<boolean>
  },
): Promise<Taken> {
  const { installation, holder, ended, ms, patienceMs = 2 * ms, look } = parts
  let seen = { until: '', at: performance.now() }
  const begun = performance.now()
  for (;;) {
    const row = await leaseRow(connection)
    if (!row) throw new UnusableLog('the lease at LOG_URL is gone')
    if (row.until !== seen.until) {
      if (performance.now() - begun > patienceMs)
        throw new UnusableLog('another gateway holds the lease at LOG_URL and renews it: stop that one first')
      seen = { until: row.until, at: performance.now() }
    }
    const isFree = row.given_up !== null || performance.now() - seen.at >= ms
    const mayTake = !look || (await look(row, isFree))
    const unrenewed = isFree && mayTake ? row.until : null
    const sentAt = performance.now()
    const [taken] = await connection.rows<{ epoch: number }>(
      `UPDATE gateway_lease SET epoch = epoch + 1, holder = $2, timeline = $5, given_up = NULL, until = ${until(ms)}
        WHERE installation = $1 AND (holder = ANY($3) OR (until::text = $4 AND until < clock_timestamp()))
        RETURNING epoch::float8 AS epoch`,
      [installation, holder, ended, unrenewed, connection.facts.timeline],
    )
    if (taken) return { epoch: taken.epoch, sentAt }
    await new Promise((resolve) => setTimeout(resolve, ms / 20))
  }
}

/** Renews the lease every second, on a connection of its own, and knows until when it is sure. */
export class Lease {
  private readonly url: string
  private readonly holder: string
  private readonly ms: number
  private readonly onLost: () => void
  private readonly upkeep: (connection: LogConnection) => Promise<void>
  private readonly timer: ReturnType<typeof setInterval>
  private connection: LogConnection | null = null
  private until: number
  private renewal: Promise<void> | null = null

  /** `upkeep` runs after each renewal. */
  constructor(parts: {
    url: string
    holder: string
    ms: number
    sentAt: number
    onLost: () => void
    upkeep: (connection: LogConnection) => Promise<void>
  }) {
    this.url = parts.url
    this.holder = parts.holder
    this.onLost = parts.onLost
    this.upkeep = parts.upkeep
    this.ms = parts.ms
    this.until = this.after(parts.sentAt)
    this.timer = setInterval(() => this.renew(), this.ms / 5)
  }

  /** On the monotonic clock, from before the last successful renewal was sent. */
  get isHeld(): boolean {
    return performance.now() < this.until
  }

  /** Gives it up, so that another process has it at once, with a copy of the tables up to this transaction; null: it runs out. */
  async release(givenUp: number | null): Promise<void> {
    clearInterval(this.timer)
    await this.renewal
    const held = this.connection
    this.connection = null
    try {
      await held?.rows(
        'UPDATE gateway_lease SET until = clock_timestamp(), given_up = $2 WHERE holder = $1',
        [this.holder, givenUp],
        this.ms / 2,
      )
    } catch {
      // It runs out by itself.
    }
    held?.destroy()
  }

  private after(sentAt: number): number {
    return sentAt + this.ms * (1 - MARGIN)
  }

  private renew(): void {
    this.renewal ??= this.renewed()
      .catch(() => this.connection?.destroy())
      .finally(() => {
        this.renewal = null
      })
  }

  private async renewed(): Promise<void> {
    if (!this.connection?.isOpen) this.connection = await LogConnection.open(this.url)
    const { connection } = this
    const sentAt = performance.now()
    const rows = await connection.rows(
      `UPDATE gateway_lease SET until = ${until(this.ms)}, timeline = $2 WHERE holder = $1 RETURNING 1`,
      [this.holder, connection.facts.timeline],
      this.ms / 2,
    )
    if (rows.length === 0) return this.onLost()
    this.until = this.after(sentAt)
    await this.upkeep(connection)
  }
}
