import type { Connection } from './worker/worker-connection'
import type { Applied, ApplyRequest, SqlStatement, WireResult } from './worker-wire'

/** Runs a waiting write with the epoch at that time. Resolves when it has ended, successfully or not. */
type QueuedWrite = () => Promise<unknown>

/**
 * The only way to write. Every batch first asserts the owner's epoch in the same transaction, so that a process whose successor has
 * started commits nothing. Ledger groups go before other waiting writes. One batch runs at a time.
 */
export class WriteQueue {
  private readonly connection: Pick<Connection, 'send' | 'apply'>
  private owned: number | null
  private readonly raisedTo = new Set<number>()
  private readonly urgent: QueuedWrite[] = []
  private readonly usual: QueuedWrite[] = []
  private busy = false
  private idle: (() => void)[] = []

  /** `epoch`: null until `begin`, for a process that does not own the database yet. It then refuses every write. */
  constructor(connection: Pick<Connection, 'send' | 'apply'>, epoch: number | null = null) {
    this.connection = connection
    this.owned = epoch
  }

  /** From here on this process owns the database. */
  begin(epoch: number): void {
    this.owned = epoch
  }

  /** Throws before `begin`. */
  get epoch(): number {
    if (this.owned === null) throw notOwned()
    return this.owned
  }

  /** Writes that wait for earlier ones. */
  get waiting(): number {
    return this.urgent.length + this.usual.length
  }

  /** A management change: atomic, durable when it resolves. */
  batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]> {
    return this.fenced(this.usual, 'asserted = ?', [], statements)
  }

  /** Writes a ledger group and its number in one transaction, so that its outcome can be looked up. */
  group(number: number, statements: readonly SqlStatement[]): Promise<readonly WireResult[]> {
    return this.fenced(this.urgent, 'asserted = ?, last_group = ?', [number], statements)
  }

  /** Applies one batch of the log. No response waits for it. */
  apply(request: Omit<ApplyRequest, 'epoch'>): Promise<Applied> {
    return this.afterEarlier(this.usual, () => this.connection.apply({ epoch: this.epoch, ...request }))
  }

  /**
   * Raises our own epoch, so that a batch whose response was lost can no longer be committed, however late it reaches the database.
   * Returns the number of the last committed group; null if another process owns the database.
   */
  async fenceOff(): Promise<number | null> {
    // Other processes raise the epoch by one, or to the time: a large random step is recognizable as ours.
    const next = this.epoch + 2 + Math.floor(Math.random() * 2 ** 32)
    this.raisedTo.add(next)
    const results = await this.enqueue(this.urgent, () => [
      {
        sql: 'UPDATE owner SET epoch = ?, asserted = ? WHERE id = 1 AND epoch = ?',
        args: [next, next, this.epoch],
      },
      { sql: 'SELECT epoch, last_group FROM owner WHERE id = 1', args: [] },
    ])
    const [epoch, lastGroup] = (results[1]?.rows[0] ?? []).map(Number)
    // The response to an earlier raise may have been lost, too.
    if (epoch === undefined || lastGroup === undefined || !this.raisedTo.has(epoch)) return null
    this.owned = epoch
    this.raisedTo.clear()
    return lastGroup
  }

  /** Resolves when all writes so far have ended. */
  async drained(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private async fenced(
    queue: QueuedWrite[],
    assignments: string,
    args: number[],
    statements: readonly SqlStatement[],
  ): Promise<readonly WireResult[]> {
    const fence = () => ({ sql: `UPDATE owner SET ${assignments} WHERE id = 1`, args: [this.epoch, ...args] })
    return (await this.enqueue(queue, () => [fence(), ...statements])).slice(1)
  }

  private enqueue(queue: QueuedWrite[], statements: () => readonly SqlStatement[]): Promise<readonly WireResult[]> {
    return this.afterEarlier(queue, () =>
      this.connection.send({ op: 'batch', mode: 'write', statements: statements() }),
    )
  }

  private afterEarlier<T>(queue: QueuedWrite[], send: () => Promise<T>): Promise<T> {
    if (this.owned === null) return Promise.reject(notOwned())
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    queue.push(() => send().then(resolve, reject))
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
    void write().then(() => {
      this.busy = false
      this.next()
    })
  }
}

function notOwned(): Error {
  return new Error('this process does not own the database yet')
}
