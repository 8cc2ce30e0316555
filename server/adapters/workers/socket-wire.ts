import { type Frame, FrameDecoder } from './frames'
import type { Session, Wire } from './session'

interface SocketWireParts {
  /** It must have a session by then. */
  readonly handshakeMs: number
  readonly onHandshake: (frame: Frame) => void
  /** Called once. */
  readonly onEnd: () => void
}

/** One connection of a worker and its primary: first their handshake, then what it brings to a session. */
export class SocketWire implements Wire {
  socket: Bun.Socket<unknown> | null = null
  isOver = false
  private readonly parts: SocketWireParts
  private readonly decoder: FrameDecoder
  private readonly deadline: ReturnType<typeof setTimeout>
  private session: Session | null = null

  constructor(parts: SocketWireParts) {
    this.parts = parts
    this.decoder = new FrameDecoder(parts.onHandshake)
    this.deadline = setTimeout(() => this.end(), parts.handshakeMs)
  }

  write(bytes: Uint8Array): number {
    return this.socket?.write(bytes) ?? -1
  }

  receive(chunk: Uint8Array): void {
    if (this.session) this.session.receive(this, chunk)
    else if (!this.isOver && this.decoder.push(chunk) !== null) this.end()
  }

  drained(): void {
    this.session?.drained(this)
  }

  /** The other side is proved, and has received all frames of this session up to that number: from here on its bytes are the session's. Or ends it. */
  attach(session: Session, received: number): boolean {
    clearTimeout(this.deadline)
    if (session.attach(this, this.decoder, received)) this.session = session
    else this.end()
    return this.session !== null
  }

  /** Ends the connection, after these bytes. */
  end(last?: Uint8Array): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.deadline)
    if (last) this.socket?.end(last)
    else this.socket?.terminate()
    this.session?.closed(this)
    this.parts.onEnd()
  }
}
