import type { Connection } from './worker-connection'
import type { Statement, WireResult } from './worker-wire'

interface Waiting {
  /** Made when its turn comes, with the epoch of then. */
  readonly statements: () => readonly Statement[]
  resolve(results: readonly WireResult[]): void
  reject(error: Error): void
}

/**
 * The one way to write. Every batch asserts the owner's epoch first, in the same transaction, so that a process whose
 * successor has started commits nothing. Ledger groups go before whatever else waits; one batch is under way at a time.
 */
export class WriteQueue {
  private readonly connection: Pick<Connection, 'send'>
  private currentEpoch: number
  private readonly raisedTo = new Set<number>()
  private readonly urgent: Waiting[] = []
  private readonly usual: Waiting[] = []
  private busy = false
  private idle: (() => void)[] = []

  constructor(connection: Pick<Connection, 'send'>, epoch: number) {
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

  /** Groups of the log, with the number of the last one kept in the same transaction. Nobody's answer waits for it. */
  apply(number: number, statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.fenced(this.usual, 'asserted = ?, applied_group = ?', [number], statements)
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
    queue: Waiting[],
    assignments: string,
    args: number[],
    statements: readonly Statement[],
  ): Promise<readonly WireResult[]> {
    const fence = () => ({ sql: `UPDATE owner SET ${assignments} WHERE id = 1`, args: [this.currentEpoch, ...args] })
    return (await this.enqueue(queue, () => [fence(), ...statements])).slice(1)
  }

  private enqueue(queue: Waiting[], statements: Waiting['statements']): Promise<readonly WireResult[]> {
    return new Promise((resolve, reject) => {
      queue.push({ statements, resolve, reject })
      this.next()
    })
  }

  private next(): void {
    if (this.busy) return
    const item = this.urgent.shift() ?? this.usual.shift()
    if (!item) {
      for (const resolve of this.idle.splice(0)) resolve()
      return
    }
    this.busy = true
    const done = () => {
      this.busy = false
      this.next()
    }
    this.connection.send({ op: 'batch', mode: 'write', statements: item.statements() }).then(
      (results) => {
        item.resolve(results)
        done()
      },
      (error: Error) => {
        item.reject(error)
        done()
      },
    )
  }
}
