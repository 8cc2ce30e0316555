import type { Connection } from './worker/worker-connection'

/** Less than the time that a process gets to shut down. */
const CLOSE_MS = 5_000

/** The open resources of a gateway, to be closed in reverse. Its database file is closed by the end of its process. */
export class Opened {
  private readonly closers: (() => void | Promise<void>)[] = []
  private readonly connections: Pick<Connection, 'abandon'>[] = []

  /** Closed before everything that was added earlier. */
  add(close: () => void | Promise<void>): void {
    this.closers.push(close)
  }

  addConnection(connection: Pick<Connection, 'close' | 'abandon'>): void {
    this.connections.push(connection)
    this.add(() => connection.close({ endsProcess: true }))
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close()
  }

  /** A hanging request does not keep the process alive: its callers know that the outcome is unknown; the next start reads it. */
  async closeInTime(onTrouble: (what: string, reason: string) => void, maxMs = CLOSE_MS): Promise<void> {
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => late.resolve('late'), maxMs)
    const end = await Promise.race([this.close(), late.promise])
    clearTimeout(timer)
    if (end !== 'late') return
    onTrouble('close', `the database did not answer in ${maxMs} ms; the connection is cut`)
    for (const connection of this.connections) connection.abandon()
  }
}
