/** One group of the log, its records as JSON. Groups are numbered through the whole life of a database. */
export interface LoggedGroup {
  readonly number: number
  readonly payload: string
}

/** How far a log goes. `chain`: a checksum over all groups up to there, so that two logs with the same end are the same log. */
export interface LogEnd {
  readonly number: number
  /** Empty before the first group. */
  readonly chain: string
}

/** The end of a log after one more group. */
export function chained({ chain }: LogEnd, { number, payload }: LoggedGroup): LogEnd {
  const sum = new Bun.CryptoHasher('sha256').update(`${chain} ${number} `).update(payload)
  return { number, chain: sum.digest('hex') }
}

/** The log's second place, outside this machine. This process alone writes it while it holds the lease. */
export interface LogCopy {
  /** What it had when it was opened. */
  readonly end: LogEnd
  /** The end of the log at this group; null if the group is not there. Rejects while the place does not answer. */
  at(number: number): Promise<LogEnd | null>
  /** The groups after this one, some at a time, each proved to follow the one before. */
  after(end: LogEnd): AsyncIterable<readonly LoggedGroup[]>
  /**
   * Resolves when the group is durable there; tries until it is. One at a time, in the order of their numbers. Never resolves when another
   * process has the lease: this one ends.
   */
  append(group: LoggedGroup): Promise<void>
  /** Why this process must answer and send nothing now: it is not sure of its lease. Null while it is. */
  readonly problem: string | null
  /** How long the group has waited that is being appended, in milliseconds. */
  readonly waitingMs: number
  /** Gives the lease back. */
  close(): Promise<void>
}

/** Opens the copy of a log that goes this far here. */
export type OpenLogCopy = (local: LogEnd) => Promise<LogCopy>
