import { ABANDONED, type Connection, DatabaseError } from './worker-connection'

/** A connection that is opened when it is first used: a thread costs memory, and not every process needs it. */
export class LateConnection implements Pick<Connection, 'send' | 'close' | 'abandon'> {
  private readonly open: () => Promise<Connection>
  private opening: Promise<Connection> | null = null
  private connection: Connection | null = null
  private refused: string | null = null
  private isCut = false

  constructor(open: () => Promise<Connection>) {
    this.open = open
  }

  async send(request: Parameters<Connection['send']>[0]): ReturnType<Connection['send']> {
    return (this.connection ?? (await this.opened())).send(request)
  }

  async close(how: { readonly endsProcess?: boolean } = {}): Promise<void> {
    this.refused ??= 'the connection is closed'
    const opened = await this.opening?.catch(() => null)
    await opened?.close(how)
  }

  abandon(reason = 'the connection was cut'): void {
    this.refused ??= reason
    this.isCut = true
    this.connection?.abandon(reason)
  }

  /** Opens it once. If that fails, the next use tries again. */
  private opened(): Promise<Connection> {
    if (this.refused !== null) return Promise.reject(new DatabaseError({ message: this.refused, code: ABANDONED }))
    this.opening ??= this.open().then(
      (connection) => {
        this.connection = connection
        if (this.isCut) connection.abandon(this.refused ?? undefined)
        return connection
      },
      (error: unknown) => {
        this.opening = null
        throw error
      },
    )
    return this.opening
  }
}
