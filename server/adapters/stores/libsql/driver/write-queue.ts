import type { DirectChange } from '../../../../core/ledger/journal'
import { type Connection, DatabaseError, databaseError } from './worker/worker-connection'
import type { Applied, ApplyRequest, SqlStatement, WireResult } from './worker-wire'

/** Puts into the log what a write changed that must not come back. Resolves when it is there. */
export interface ChangeLog {
  /** Why nothing may be written now: another process may own the log. Null while all may. */
  readonly problem: string | null
  /** For a ledger group, which has time. */
  money(changes: readonly DirectChange[]): Promise<void>
  /** For any other write. Rejects when it takes too long. */
  management(changes: readonly DirectChange[]): Promise<void>
}

/** Runs a waiting write with the epoch at that time. Resolves when it has ended, successfully or not, to a callback that notifies the waiter. */
type QueuedWrite = () => Promise<() => void>

const NOTED = 'SELECT seq, change FROM direct_changes WHERE seq > ? ORDER BY seq'

/**
 * The only way to write. Every batch first asserts the owner's epoch in the same transaction, so that a process whose successor has
 * started commits nothing. Ledger groups go before other waiting writes. One batch runs at a time.
 */
export class WriteQueue {
  private readonly connection: Pick<Connection, 'send' | 'apply'>
  private owned: number
  private readonly raisedTo = new Set<number>()
  private readonly urgent: QueuedWrite[] = []
  private readonly usual: QueuedWrite[] = []
  private busy = false
  /** A write failed that the database may still commit. */
  private isUnsettled = false
  private idle: (() => void)[] = []
  private changes: ChangeLog | null = null
  /** The last direct change that was handed to `changes`. */
  private noted = 0

  constructor(connection: Pick<Connection, 'send' | 'apply'>, epoch: number) {
    this.connection = connection
    this.owned = epoch
  }

  get epoch(): number {
    return this.owned
  }

  /** From here on a write ends only when the log has the rows that it adds to `direct_changes`, after the row `noted`. */
  logChanges(changes: ChangeLog, noted: number): void {
    this.changes = changes
    this.noted = noted
  }

  /** Writes that wait for earlier ones. */
  get waiting(): number {
    return this.urgent.length + this.usual.length
  }

  /** A management change: atomic, durable when it resolves. If the database did not refuse it, no later write goes before it is certain. */
  batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]> {
    const { changes } = this
    if (!changes) return this.fenced(this.usual, {}, statements)
    return this.logged(this.usual, {}, statements, (noted) => changes.management(noted))
  }

  /** Writes a ledger group and its number in one transaction, so that its outcome can be looked up. */
  group(number: number, statements: readonly SqlStatement[]): Promise<readonly WireResult[]> {
    const { changes } = this
    if (!changes) return this.fenced(this.urgent, { last_group: number }, statements)
    return this.logged(this.urgent, { last_group: number }, statements, (noted) => changes.money(noted))
  }

  /** Applies one batch of the log. No response waits for it. */
  apply(request: Omit<ApplyRequest, 'epoch'>): Promise<Applied> {
    return this.afterEarlier(this.usual, () => this.connection.apply({ epoch: this.epoch, ...request }))
  }

  /**
   * Raises our own epoch, so that a batch whose response was lost can no longer be committed, however late it reaches the database.
   * Returns the number of the last committed group; null if another process owns the database.
   */
  fenceOff(): Promise<number | null> {
    return this.afterEarlier(this.urgent, () => this.raise())
  }

  /** Resolves when no write whose outcome is unknown can be committed any more. Rejects while the database does not answer. */
  async settled(): Promise<void> {
    if (this.isUnsettled) await this.fenceOff()
  }

  private async raise(): Promise<number | null> {
    // Other processes raise the epoch by one, or to the time: a large random step is recognizable as ours.
    const next = this.epoch + 2 + Math.floor(Math.random() * 2 ** 32)
    this.raisedTo.add(next)
    const statements = [
      {
        sql: 'UPDATE owner SET epoch = ?, asserted = ? WHERE id = 1 AND epoch = ?',
        args: [next, next, this.epoch],
      },
      { sql: 'SELECT epoch, last_group FROM owner WHERE id = 1', args: [] },
    ]
    const results = await this.connection.send({ op: 'batch', mode: 'write', statements })
    this.isUnsettled = false
    const [epoch, lastGroup] = (results[1]?.rows[0] ?? []).map(Number)
    // The response to an earlier raise may have been lost, too.
    if (epoch === undefined || lastGroup === undefined || !this.raisedTo.has(epoch)) return null
    this.owned = epoch
    this.raisedTo.clear()
    return lastGroup
  }

  /** Sends a batch. The fence returns what it wrote: an answer that a network repeats is not to this one. */
  private async send([fence, ...statements]: readonly [SqlStatement, ...SqlStatement[]]) {
    try {
      const results = await this.connection.send({ op: 'batch', mode: 'write', statements: [fence, ...statements] })
      const isOurs = Bun.deepEquals(results[0]?.rows[0], fence.args)
      if (!isOurs) throw new DatabaseError({ message: 'the answer is not to this write', code: 'OTHER_ANSWER' })
      return results.slice(1)
    } catch (error) {
      const { isAnswer, isAbandoned } = databaseError(error)
      this.isUnsettled = !isAnswer && !isAbandoned
      throw error
    }
  }

  /** Resolves when all writes so far have ended. */
  async drained(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  /** A write before it whose outcome is unknown is either committed by then, or never. `noted`: more columns of the fence. */
  private fenced(
    queue: QueuedWrite[],
    noted: Readonly<Record<string, number>>,
    statements: readonly SqlStatement[],
  ): Promise<readonly WireResult[]> {
    return this.afterEarlier(queue, async () => {
      if (this.isUnsettled) await this.raise()
      const fence = { asserted: this.epoch, ...noted }
      const columns = Object.keys(fence)
      const sql = `UPDATE owner SET ${columns.map((name) => `${name} = ?`).join(', ')} WHERE id = 1 RETURNING ${columns.join(', ')}`
      return this.send([{ sql, args: Object.values(fence) }, ...statements])
    })
  }

  /** The next write does not wait for the log. Changes get there in the order of their commits. */
  private async logged(
    queue: QueuedWrite[],
    columns: Readonly<Record<string, number>>,
    statements: readonly SqlStatement[],
    log: (changes: readonly DirectChange[]) => Promise<void>,
  ): Promise<readonly WireResult[]> {
    const problem = this.changes?.problem
    if (problem) throw new DatabaseError({ message: problem, code: 'LOG' })
    const noted = { sql: NOTED, args: [this.noted] }
    const results = await this.fenced(queue, columns, [...statements, noted])
    const changes = (results.at(-1)?.rows ?? []).flatMap(([seq, change]) =>
      Number(seq) > this.noted ? { seq: Number(seq), ...JSON.parse(String(change)) } : [],
    )
    this.noted = changes.at(-1)?.seq ?? this.noted
    if (changes.length > 0) await log(changes)
    return results.slice(0, -1)
  }

  private afterEarlier<T>(queue: QueuedWrite[], send: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    queue.push(() =>
      send().then(
        (result) => () => resolve(result),
        (error: unknown) => () => reject(error),
      ),
    )
    this.next()
    return promise
  }

  private next(): void {
    if (this.busy) return
    const write = this.urgent.shift() ?? this.usual.shift()
    if (!write) {
      for (const resolve of this.idle.splice(0)) resolve()
      return
    }
    this.busy = true
    void write().then((tell) => {
      this.busy = false
      // A write that waits goes before what this one's outcome leads to.
      const isTold = this.waiting === 0
      if (isTold) tell()
      this.next()
      if (!isTold) tell()
    })
  }
}
