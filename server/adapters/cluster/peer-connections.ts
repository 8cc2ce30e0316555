import { inTime } from '../../core/in-time'
import { OutgoingLink } from './outgoing-link'
import { type ConnectionOwner, PeerConnection } from './peer-connection'

const CONNECT_MS = 2_000
/** A stream or a live page holds a connection each. */
const MAX_OPEN = 4096
/** Half of what the other node waits before it closes an idle connection, so that it never closes one that we begin to use. */
const MAX_IDLE_MS = 30_000
/** After so much silence, a node that should answer is asked whether it is there. It has three quarters of that to say so. */
const SILENT_MS = 4_000
const MAX_SILENCES = 2
const NO_ANSWER = 'the owner does not answer'
const LEAVES = 'it stops'
/** An older version, and a proxy that passes no upgrade, have no links: they are asked again after this time. */
const LINK_AGAIN_MS = 10_000
/** After one that was there has closed. */
const LINK_SOON_MS = 1_000
/** So long after a node said that it stops, others may take it for the owner of a cell. */
const LEAVING_MS = 15_000

/** The kept-alive connections to one node, and the link that carries most calls. */
export class PeerConnections implements ConnectionOwner {
  private readonly url: URL
  private readonly now: () => number
  private readonly silentMs: number
  /** The last one freed is used first: the others become idle and close. */
  private readonly free: PeerConnection[] = []
  private readonly open = new Set<PeerConnection>()
  private opening = 0
  private link: OutgoingLink | null = null
  private isLinking = false
  private linkTriedAt = Number.NEGATIVE_INFINITY
  private linkUsedAt = 0
  private isClosed = false
  /** When anything came from it, or nothing was awaited. */
  private heardAt: number
  private isAsked = false
  private silences = 0
  /** When the node said that it stops. */
  private leftAt: number | null = null

  /** `now`: milliseconds of a clock that never steps. */
  constructor(url: string, now: () => number, silentMs = SILENT_MS) {
    this.url = new URL(url)
    this.now = now
    this.silentMs = silentMs
    this.heardAt = now()
  }

  /** For requests that have no `Host` of their own. */
  get host(): string {
    return this.url.host
  }

  get size(): number {
    return this.open.size + this.opening + (this.link || this.isLinking ? 1 : 0)
  }

  /** Whether the node said that it stops: it is sent nothing more. */
  get hasLeft(): boolean {
    return this.leftAt !== null
  }

  /** Whether nobody needs to know of it. */
  get isForgettable(): boolean {
    return this.size === 0 && (this.leftAt === null || this.now() - this.leftAt > LEAVING_MS)
  }

  /** The link, if it carries one more call. Without one, it is opened for later calls; `hop` signs for it. */
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
      // Calls take connections of their own.
    }
    this.isLinking = false
  }

  /**
   * The node stops: it closes its port once the link is closed. What would arrive there then would be of unknown outcome, so it is sent nothing more, and
   * the link closes last.
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

  /** A new one. Throws if the node cannot be reached, or stops. `isExtra`: neither that nor the maximum matters. */
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

  /** Closes what has been idle for too long. */
  sweep(): void {
    const oldest = this.now() - MAX_IDLE_MS
    if (this.link?.size === 0 && this.linkUsedAt <= oldest) this.link.retire()
    while (this.free[0] && this.free[0].freeSince <= oldest) this.free.shift()?.destroy()
  }

  /**
   * Breaks all connections if the node is silent while it should answer, and `ask`, a question on a connection of its own, gets no answer
   * either, twice: a network that drops everything is noticed by TCP after a quarter of an hour.
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

  /** Closes free connections now, and the others when they become free. */
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

  /** Closes the link of a node that stops once nothing else is open. */
  private endLink(): void {
    if (this.hasLeft) this.link?.retire()
  }
}
