import { type ConnectionOwner, PeerConnection } from './peer-connection'

const CONNECT_MS = 2_000
/** A stream or a live page holds a connection each. */
const MAX_OPEN = 4096
/** Half of what the other node waits before it closes an idle connection, so that it never closes one that we begin to use. */
const MAX_IDLE_MS = 30_000

/** The kept-alive connections to one node. */
export class PeerConnections implements ConnectionOwner {
  private readonly url: URL
  private readonly now: () => number
  /** The last one freed is used first: the others become idle and close. */
  private readonly free: PeerConnection[] = []
  private readonly open = new Set<PeerConnection>()
  private opening = 0
  private isClosed = false

  /** `now`: milliseconds of a clock that never steps. */
  constructor(url: string, now: () => number) {
    this.url = new URL(url)
    this.now = now
  }

  /** For requests that have no `Host` of their own. */
  get host(): string {
    return this.url.host
  }

  get size(): number {
    return this.open.size + this.opening
  }

  /** A free connection; null if there is none. */
  taken(): PeerConnection | null {
    const oldest = this.now() - MAX_IDLE_MS
    for (let connection = this.free.pop(); connection; connection = this.free.pop())
      if (connection.isOpen && connection.freeSince > oldest) return connection
      else connection.destroy()
    return null
  }

  /** A new one. Throws if the node cannot be reached. */
  async connect(): Promise<PeerConnection> {
    if (this.size >= MAX_OPEN) throw new Error(`${MAX_OPEN} connections to it are in use`)
    this.opening++
    try {
      const connection = await PeerConnection.open(this.url, this, CONNECT_MS)
      this.open.add(connection)
      return connection
    } finally {
      this.opening--
    }
  }

  /** Closes what has been idle for too long. */
  sweep(): void {
    const oldest = this.now() - MAX_IDLE_MS
    while (this.free[0] && this.free[0].freeSince <= oldest) this.free.shift()?.destroy()
  }

  /** Closes free connections now, and the others when they become free. */
  retire(): void {
    this.isClosed = true
    for (const connection of this.free.splice(0)) connection.destroy()
  }

  freed(connection: PeerConnection): void {
    connection.freeSince = this.now()
    connection.resume()
    if (this.isClosed) connection.destroy()
    else this.free.push(connection)
  }

  closed(connection: PeerConnection): void {
    this.open.delete(connection)
    const at = this.free.indexOf(connection)
    if (at >= 0) this.free.splice(at, 1)
  }
}
