import type { Connection } from './connection'
import type { Statement, WireResult } from './worker-wire'

interface Waiting {
  readonly statements: readonly Statement[]
  resolve(results: readonly WireResult[]): void
  reject(error: Error): void
}

/**
 * The one way to write. Every batch asserts the owner's epoch first, in the same transaction, so that a process whose
 * successor has started commits nothing. Ledger groups go before whatever else waits; one batch is under way at a time.
 */
export class WriteQueue {
  private readonly connection: Pick<Connection, 'send'>
  private readonly epoch: number
  private readonly urgent: Waiting[] = []
  private readonly usual: Waiting[] = []
  private busy = false
  private idle: (() => void)[] = []

  constructor(connection: Pick<Connection, 'send'>, epoch: number) {
    this.connection = connection
    this.epoch = epoch
  }

  /** A management change: atomic, durable when it resolves. */
  batch(statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.enqueue(this.usual, fence('asserted = ?', [this.epoch]), statements)
  }

  /** A ledger group, with its number kept in the same transaction, so that its fate can be asked for. */
  group(number: number, statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.enqueue(this.urgent, fence('asserted = ?, last_group = ?', [this.epoch, number]), statements)
  }

  /** Groups of the log, with the number of the last one kept in the same transaction. Nobody's answer waits for it. */
  apply(number: number, statements: readonly Statement[]): Promise<readonly WireResult[]> {
    return this.enqueue(this.usual, fence('asserted = ?, applied_group = ?', [this.epoch, number]), statements)
  }

  /** Resolves when everything that was given so far has ended. */
  async drained(): Promise<void> {
    if (this.busy) await new Promise<void>((resolve) => this.idle.push(resolve))
  }

  private enqueue(
    queue: Waiting[],
    fence: Statement,
    statements: readonly Statement[],
  ): Promise<readonly WireResult[]> {
    return new Promise((resolve, reject) => {
      queue.push({ statements: [fence, ...statements], resolve: (results) => resolve(results.slice(1)), reject })
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
    this.connection.send({ op: 'batch', mode: 'write', statements: item.statements }).then(
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

function fence(assignments: string, args: number[]): Statement {
  return { sql: `UPDATE owner SET ${assignments} WHERE id = 1`, args }
}
