import { inTime } from '../../core/in-time'
import { OutgoingLink } from './outgoing-link'
import { type ConnectionOwner, PeerConnection } from './peer-connection'

const CONNECT_MS = 2_000
/** Each stream or live page uses a connection. */
const MAX_OPEN = 4096
/** Half of the time after which the other node closes an idle connection, so that it never closes one that is about to be used. */
const MAX_IDLE_MS = 30_000
/** After this much silence, a node that should answer is probed. It must answer within three quarters of this time. */
const SILENT_MS = 4_000
const MAX_SILENCES = 2
const NO_ANSWER = 'the owner does not answer'
const LEAVES = 'it stops'
/** When to try again to open a link: older versions, and proxies without upgrades, have none. */
const LINK_AGAIN_MS = 10_000
/** The same after an open link has closed. */
const LINK_SOON_MS = 1_000
/** How long after its announcement others may still treat a stopping node as an owner. */
const LEAVING_MS = 15_000

/** The kept-alive connections to one node, and the link that carries most calls. */
export class PeerConnections implements ConnectionOwner {
  private readonly url: URL
  private readonly now: () => number
  private readonly silentMs: number
  /** The last freed connection is used first, so that the others become idle and close. */
  private readonly free: PeerConnection[] = []
  private readonly open = new Set<PeerConnection>()
  private opening = 0
  private link: OutgoingLink | null = null
  private isLinking = false
  private linkTriedAt = Number.NEGATIVE_INFINITY
  private linkUsedAt = 0
  private isClosed = false
  /** When the node last sent anything, or nothing was expected of it. */
  private heardAt: number
  private isAsked = false
  private silences = 0
  /** When the node announced that it stops. */
  private leftAt: number | null = null

  /** `now`: milliseconds of a clock that never steps. */
  constructor(url: string, now: () => number, silentMs = SILENT_MS) {
    this.url = new URL(url)
    this.now = now
    this.silentMs = silentMs
    this.heardAt = now()
  }

  /** For requests without a `Host`. */
  get host(): string {
    return this.url.host
  }

  get size(): number {
    return this.open.size + this.opening + (this.link || this.isLinking ? 1 : 0)
  }

  /** Whether the node announced that it stops: nothing more is sent to it. */
  get hasLeft(): boolean {
    return this.leftAt !== null
  }

  /** Whether this object can be dropped. */
  get isForgettable(): boolean {
    return this.size === 0 && (this.leftAt === null || this.now() - this.leftAt > LEAVING_MS)
  }

  /** The link, if it can carry another call. If there is none, opens one for later calls; `hop` signs the request for it. */
  usableLink(hop: () => string): OutgoingLink | null {
    if (this.link) {
      this.linkUsedAt = this.now()
      return this.link.takes ? this.link : null
    }
    if (!this.isLinking && !this.isClosed && !this.hasLeft && this.now() - this.linkTriedAt >= LINK_AGAIN_MS)
      void this.openLink(hop())
    return null
  }

  private async openLink(hop: string): Promise<void> {
    this.isLinking = true
    this.linkTriedAt = this.now()
    const isNeeded = () => this.hasLeft && this.open.size + this.opening > 0
    const owner = { heard: () => this.heard(), left: () => this.left(), isNeeded, closed: () => this.linkClosed() }
    try {
      this.link = await OutgoingLink.open(this.url, hop, owner, CONNECT_MS)
      this.linkUsedAt = this.now()
      if (this.isClosed) this.link.retire()
    } catch {
      // Calls then use separate connections.
    }
    this.isLinking = false
  }

  /**
   * The node stops: it closes its port once the link is closed. A request that arrived then would have an unknown outcome, so nothing more is sent, and the
   * link is closed last.
   */
  private left(): void {
    this.leftAt = this.now()
    this.closeFree()
  }

  private linkClosed(): void {
    if (this.link) this.linkTriedAt = this.now() - LINK_AGAIN_MS + LINK_SOON_MS
    this.link = null
  }

  /** A free connection; null if there is none. */
  taken(): PeerConnection | null {
    const oldest = this.now() - MAX_IDLE_MS
    for (let connection = this.free.pop(); connection; connection = this.free.pop())
      if (connection.isOpen && connection.freeSince > oldest) return connection
      else connection.destroy()
    return null
  }

  /** A new connection. Throws if the node is unreachable, or is stopping or at the maximum unless `isExtra`. */
  async connect(isExtra = false): Promise<PeerConnection> {
    if (this.size >= MAX_OPEN && !isExtra) throw new Error(`${MAX_OPEN} connections to it are in use`)
    const requireStaying = () => {
      if (this.hasLeft && !isExtra) throw new Error(LEAVES)
    }
    requireStaying()
    this.opening++
    try {
      const connection = await PeerConnection.open(this.url, this, CONNECT_MS)
      this.open.add(connection)
      if (this.hasLeft && !isExtra) connection.destroy()
      requireStaying()
      return connection
    } finally {
      this.opening--
      this.endLink()
    }
  }

  /** Closes connections that were idle for too long. */
  sweep(): void {
    const oldest = this.now() - MAX_IDLE_MS
    if (this.link?.size === 0 && this.linkUsedAt <= oldest) this.link.retire()
    while (this.free[0] && this.free[0].freeSince <= oldest) this.free.shift()?.destroy()
  }

  /**
   * Breaks all connections if the node is silent while it should answer, and two probes (`ask`, on a separate connection) also get no answer. TCP would
   * need a quarter of an hour to notice a network that drops everything.
   */
  watch(ask: () => Promise<unknown>): void {
    const now = this.now()
    if (this.open.size === this.free.length && !this.link?.size) this.heardAt = now
    if (this.isAsked || now - this.heardAt < this.silentMs * (this.silences + 1)) return
    this.isAsked = true
    void inTime(ask(), this.silentMs * 0.75, () => new Error('no answer'))
      .then(
        () => this.heard(),
        () => this.silent(),
      )
      .finally(() => {
        this.isAsked = false
      })
  }

  heard(): void {
    this.heardAt = this.now()
    this.silences = 0
  }

  private silent(): void {
    if (++this.silences < MAX_SILENCES) return
    for (const connection of [...this.open]) connection.ended(NO_ANSWER)
    this.link?.ended(NO_ANSWER)
    this.heard()
  }

  /** Closes free connections now, and the others once they are free. */
  retire(): void {
    this.isClosed = true
    this.link?.retire()
    this.closeFree()
  }

  freed(connection: PeerConnection): void {
    connection.freeSince = this.now()
    connection.resume()
    if (this.isClosed || this.hasLeft) connection.destroy()
    else this.free.push(connection)
  }

  closed(connection: PeerConnection): void {
    this.open.delete(connection)
    const at = this.free.indexOf(connection)
    if (at >= 0) this.free.splice(at, 1)
    this.endLink()
  }

  private closeFree(): void {
    for (const connection of this.free.splice(0)) connection.destroy()
  }

  /** Closes the link to a stopping node once no other connection is open. */
  private endLink(): void {
    if (this.hasLeft) this.link?.retire()
  }
}
