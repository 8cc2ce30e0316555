import { ResponseReader, type ResponseSink } from './response-reader'

/** One request and its response. */
export interface Exchange extends ResponseSink {
  /** The connection broke before the response was complete. `wasSent`: whether the other node may have received any byte of the request. */
  cut(reason: string, wasSent: boolean): void
}

/** The pool that a connection returns to. */
export interface ConnectionOwner {
  /** Bytes arrived: the other node is alive. */
  heard(): void
  /** The exchange is over on both sides: the connection is free. */
  freed(connection: PeerConnection): void
  closed(connection: PeerConnection): void
}

const HANDLERS: Bun.SocketHandler<PeerConnection> = {
  data: ({ data }, bytes) => data.received(bytes as Buffer<ArrayBuffer>),
  drain: ({ data }) => data.flush(),
  handshake: ({ data }, isDone, problem) => data.secured(isDone ? problem : new Error('the TLS handshake failed')),
  end: ({ data }) => data.ended('the owner closed the connection'),
  close: ({ data }) => data.ended('the connection broke'),
  error: ({ data }, error) => data.ended(error.message),
}
const NO_BYTES = new Uint8Array()

/** A kept-alive connection to another node, with one exchange at a time. Not `fetch`: [ADR 47](docs/adr/0047-hops-have-their-own-http-client.md). */
export class PeerConnection {
  private readonly owner: ConnectionOwner
  private socket: Bun.Socket<PeerConnection> | null = null
  private exchange: Exchange | null = null
  private reader: ResponseReader | null = null
  private unsent: Uint8Array = NO_BYTES
  private whenDrained: (() => void) | null = null
  /** The TLS handshake; rejected when the connection breaks. */
  private readonly handshake = Promise.withResolvers<void>()
  private isBroken = false
  private isWhole = true
  private isUploading = false
  private wasSent = false
  private mayKeep = true
  private isPaused = false
  /** When it became free. */
  freeSince = 0

  private constructor(owner: ConnectionOwner) {
    this.owner = owner
    // Without TLS nothing awaits it.
    this.handshake.promise.catch(() => undefined)
  }

  /** Connects to a node. Throws if that fails, or takes longer than `withinMs`. */
  static async open(url: URL, owner: ConnectionOwner, withinMs: number): Promise<PeerConnection> {
    const connection = new PeerConnection(owner)
    const isHttps = url.protocol === 'https:'
    const opening = Bun.connect({
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port || (isHttps ? 443 : 80)),
      ...(isHttps && { tls: true }),
      data: connection,
      socket: HANDLERS,
    })
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error(`no connection within ${withinMs} ms`)), withinMs)
    try {
      const socket = await Promise.race([opening, late.promise])
      // Nothing is sent before the certificate is checked: requests have callers' keys.
      if (isHttps) await Promise.race([connection.handshake.promise, late.promise])
      if (connection.isBroken) throw new Error('the connection broke')
      socket.setNoDelay(true)
      // Detects machines that disappear without closing the connection.
      socket.setKeepAlive(true, 5_000)
      connection.socket = socket
      return connection
    } catch (error) {
      void opening.then(
        (socket) => socket.terminate(),
        () => undefined,
      )
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  get isOpen(): boolean {
    return this.socket !== null
  }

  /** Sends the head of a request and the available part of its body. `isMore`: the rest follows through `send`. */
  begin(exchange: Exchange, request: { isHead: boolean; bytes: Uint8Array; isMore: boolean }): void {
    this.exchange = exchange
    this.isUploading = request.isMore
    this.isWhole = false
    this.wasSent = false
    this.mayKeep = true
    this.reader = new ResponseReader(request.isHead, {
      head: (head) => {
        this.mayKeep = head.keepsConnection
        exchange.head(head)
      },
      body: (bytes) => exchange.body(bytes),
      end: () => {
        exchange.end()
        this.isWhole = true
      },
    })
    this.write(request.bytes)
  }

  /** Sends more of the body. Resolves when the other node accepts more. */
  async send(bytes: Uint8Array): Promise<void> {
    this.write(bytes)
    if (this.unsent.byteLength > 0 && this.socket) await new Promise<void>((resolve) => (this.whenDrained = resolve))
  }

  /** The body of the request is complete. */
  endUpload(): void {
    this.isUploading = false
  }

  /** Reads no more until `resume`: the other node stops sending. */
  pause(): void {
    if (this.isPaused) return
    this.isPaused = true
    this.socket?.pause()
  }

  resume(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.socket?.resume()
  }

  /** Closes the connection; the other node sees that the caller has hung up. */
  destroy(): void {
    this.exchange = null
    this.ended('closed here')
  }

  received(bytes: Buffer<ArrayBuffer>): void {
    this.owner.heard()
    if (!this.reader || !this.exchange) return void this.destroy()
    try {
      this.reader.read(bytes)
    } catch (error) {
      return void this.ended(
        `the owner's response cannot be passed on: ${error instanceof Error ? error.message : error}`,
      )
    }
    this.freeIfDone()
  }

  secured(problem: Error | null): void {
    if (problem) this.handshake.reject(problem)
    else this.handshake.resolve()
  }

  flush(): void {
    const bytes = this.unsent
    this.unsent = NO_BYTES
    this.write(bytes)
    if (this.unsent.byteLength === 0) this.drained()
  }

  ended(reason: string): void {
    this.isBroken = true
    this.handshake.reject(new Error(reason))
    const { socket, exchange } = this
    if (!socket) return
    this.socket = null
    this.exchange = null
    socket.terminate()
    this.drained()
    this.owner.closed(this)
    if (!exchange || this.isWhole) return
    this.reader?.close()
    if (!this.isWhole) exchange.cut(reason, this.wasSent)
  }

  private drained(): void {
    const resolve = this.whenDrained
    this.whenDrained = null
    resolve?.()
  }

  private write(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    if (!this.socket) return
    if (this.unsent.byteLength > 0) {
      this.unsent = Buffer.concat([this.unsent, bytes])
      return
    }
    const written = this.socket.write(bytes)
    if (written < 0) return void this.ended('the connection was closed')
    if (written > 0) this.wasSent = true
    if (written < bytes.byteLength) this.unsent = bytes.subarray(written)
  }

  private freeIfDone(): void {
    if (!this.isWhole || !this.exchange) return
    this.exchange = null
    this.reader = null
    // The owner answered before it had the whole body, for example because the body is too large.
    const isAhead = this.isUploading || this.unsent.byteLength > 0
    if (!this.mayKeep || isAhead) return void this.ended('the connection is not reusable')
    this.owner.freed(this)
  }
}
