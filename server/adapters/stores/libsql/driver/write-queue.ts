import type { Connection } from './worker-connection'
import type { Applied, ApplyRequest, Statement, WireResult } from './worker-wire'

/** Sends what waited when its turn comes, with the epoch of then. Resolves when it has ended, however it ended. */
type Turn = () => Promise<unknown>

/**
 * The one way to write. Every batch asserts the owner's epoch first, in the same transaction, so that a process whose
 * successor has started commits nothing. Ledger groups go before whatever else waits; one batch is under way at a time.
 */
export class WriteQueue {
  private readonly connection: Pick<Connection, 'send' | 'apply'>
  private currentEpoch: number
  private readonly raisedTo = new Set<number>()
  private readonly urgent: Turn[] = []
  private readonly usual: Turn[] = []
  private busy = false
  private idle: (() => void)[] = []

  constructor(connection: Pick<Connection, 'send' | 'apply'>, epoch: number) {
    this.connection = connection
    this.currentEpoch = epoch
  }

  get epoch(): number {
    return this.currentEpoch
  }

  /** A management change: atomic, durable when it resolves. */
  batch(statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.fenced(this.usual, 'asserted = ?', [], statements)
  }

  /** A ledger group, with its number kept in the same transaction, so that its fate can be asked for. */
  group(number: number, statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.fenced(this.urgent, 'asserted = ?, last_group = ?', [number], statements)
  }

  /** One batch of the log. Nobody's answer waits for it. */
  apply(request: Omit<ApplyRequest, 'epoch'>): Promise<Applied> {
    return this.inTurn(this.usual, () => this.connection.apply({ epoch: this.currentEpoch, ...request }))
  }

  /**
   * Raises our own epoch, so that a batch whose answer was lost cannot be committed any more, however late it reaches the
   * database. Gives the number of the last group that was; null when another process owns the database.
   */
  async fenceOff(): Promise<number | null> {
    // Another process raises the epoch by one: a number that it cannot come to by chance is ours.
    const next = this.currentEpoch + 2 + Math.floor(Math.random() * 2 ** 32)
    this.raisedTo.add(next)
    const results = await this.enqueue(this.urgent, () => [
      {
        sql: 'UPDATE owner SET epoch = ?, asserted = ? WHERE id = 1 AND epoch = ?',
        args: [next, next, this.currentEpoch],
      },
      { sql: 'SELECT epoch, last_group FROM owner WHERE id = 1', args: [] },
    ])
    const [epoch, lastGroup] = (results[1]?.rows[0] ?? []).map(Number)
    // The answer to an earlier raise may have been lost as well.
    if (epoch === undefined || lastGroup === undefined || !this.raisedTo.has(epoch)) return null
    this.currentEpoch = epoch
    this.raisedTo.clear()
    return lastGroup
  }

  /** Resolves when everything that was given so far has ended. */
  async drained(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private async fenced(
    queue: Turn[],
    assignments: string,
    args: number[],
    statements: readonly Statement[],
  ): Promise<readonly WireResult[]> {
    const fence = () => ({ sql: `UPDATE owner SET ${assignments} WHERE id = 1`, args: [this.currentEpoch, ...args] })
    return (await this.enqueue(queue, () => [fence(), ...statements])).slice(1)
  }

  private enqueue(queue: Turn[], statements: () => readonly Statement[]): Promise<readonly WireResult[]> {
    return this.inTurn(queue, () => this.connection.send({ op: 'batch', mode: 'write', statements: statements() }))
  }

  private inTurn<T>(queue: Turn[], send: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    queue.push(() => send().then(resolve, reject))
    this.next()
    return promise
  }

  private next(): void {
    if (this.busy) return
    const turn = this.urgent.shift() ?? this.usual.shift()
    if (!turn) {
      for (const resolve of this.idle.splice(0)) resolve()
      return
    }
    this.busy = true
    void turn().then(() => {
      this.busy = false
      this.next()
    })
  }
}
