import type { Hopped } from '../../core/cluster/hop'
import { wholeBodyOf } from '../../core/cluster/whole-body'
import { reasonOf } from '../../core/result'
import { type CallHead, callHeadIn } from './call-head'
import { FEW_CALLS, FRAME, type FrameKind, FrameWriter, readFrames, WHOLE_BYTES, WINDOW_BYTES } from './link-frames'
import { responseHeadText } from './response-head'

/** Beyond this, the WebSocket library drops messages, so that a call would never end. The windows keep the buffer far below. */
const MAX_BUFFERED_BYTES = 1024 ** 3
/** Beyond this, parts of responses wait until the other node has received what is in flight. */
const FULL_BYTES = 4 * 1024 * 1024
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
/** Pings are sent before that, so a link only closes if the other node is gone. */
const IDLE_SECONDS = 30

interface IncomingParts {
  /** Answers a request that another node forwarded. */
  readonly answer: (request: Request, hop: Hopped) => Response | Promise<Response>
  readonly onFault: (reason: string) => void
}

type LinkSocket = Bun.ServerWebSocket<undefined>
/** The part of a server that opens links. */
export type LinkServer = Pick<Bun.Server<undefined>, 'upgrade'>

/** The links that other nodes have opened to this one (ADR 57). */
export class IncomingLinks {
  private readonly parts: IncomingParts
  private readonly open = new Map<LinkSocket, IncomingLink>()
  private onGone: (() => void) | null = null
  private isEnding = false

  constructor(parts: IncomingParts) {
    this.parts = parts
  }

  /** The handler for the server that listens on the port. */
  readonly websocket: Bun.WebSocketHandler<undefined> = {
    perMessageDeflate: false,
    maxPayloadLength: MAX_MESSAGE_BYTES,
    backpressureLimit: MAX_BUFFERED_BYTES,
    idleTimeout: IDLE_SECONDS,
    open: (socket) => {
      socket.binaryType = 'nodebuffer'
      const link = new IncomingLink(socket, this.parts)
      this.open.set(socket, link)
      if (this.isEnding) link.announceStop()
    },
    message: (socket, message) => this.open.get(socket)?.received(message as Buffer<ArrayBuffer>),
    drain: (socket) => this.open.get(socket)?.drained(),
    close: (socket) => {
      this.open.get(socket)?.closed()
      this.open.delete(socket)
      if (this.open.size === 0) this.onGone?.()
    },
  }

  /** Turns a request into a link. Its hop header has proved that another node sent it. */
  accept(request: Request, server: LinkServer): Response {
    // The server sends nothing more once the connection is a link.
    return new Response(null, { status: server.upgrade(request) ? 200 : 426 })
  }

  /**
   * Announces that this node stops. Resolves when the other nodes have every answer and send nothing more, or after `maxMs`: then the port can be closed.
   */
  async ended(maxMs: number): Promise<void> {
    this.isEnding = true
    for (const link of this.open.values()) link.announceStop()
    if (this.open.size === 0) return
    const gone = Promise.withResolvers<void>()
    this.onGone = gone.resolve
    const timer = setTimeout(gone.resolve, maxMs)
    await gone.promise
    clearTimeout(timer)
  }
}

class IncomingLink {
  private socket: LinkSocket | null
  private readonly parts: IncomingParts
  private readonly calls = new Map<number, IncomingCall>()
  private readonly frames = new FrameWriter((message) => this.send(message))
  private whenDrained = Promise.withResolvers<void>()

  constructor(socket: LinkSocket, parts: IncomingParts) {
    this.socket = socket
    this.parts = parts
  }

  received(message: Buffer<ArrayBuffer>): void {
    this.frames.wait()
    try {
      readFrames(message, ({ kind, id, text, bytes }) => {
        if (kind === FRAME.call) return void this.run(id, text, bytes)
        const call = this.calls.get(id)
        if (kind === FRAME.cancel) call?.hangUp()
        else if (kind === FRAME.more) call?.allow(Number(text))
      })
    } catch (error) {
      this.parts.onFault(`a message from another node cannot be read: ${reasonOf(error)}`)
      this.socket?.terminate()
    }
  }

  drained(): void {
    this.whenDrained.resolve()
    this.whenDrained = Promise.withResolvers()
  }

  /** The other node is gone, and so are its callers. */
  closed(): void {
    this.socket = null
    this.drained()
    for (const call of this.calls.values()) call.hangUp()
  }

  announceStop(): void {
    this.frames.add(FRAME.last, 0)
  }

  write(kind: FrameKind, id: number, text?: string, bytes?: Uint8Array): void {
    this.frames.add(kind, id, text, bytes)
  }

  /** Sends a whole response. */
  answer(id: number, head: string, body: Uint8Array): void {
    this.frames.add(FRAME.answer, id, head, body, this.calls.size <= FEW_CALLS)
  }

  /** Whether more of a response must wait for `drain`. */
  get isFull(): boolean {
    return this.socket !== null && this.socket.getBufferedAmount() > FULL_BYTES
  }

  get drain(): Promise<void> {
    return this.whenDrained.promise
  }

  private run(id: number, text: string, body: Buffer<ArrayBuffer>): void {
    const call = new IncomingCall(id, this)
    this.calls.set(id, call)
    void this.answered(call, callHeadIn(text), body)
  }

  private async answered(call: IncomingCall, head: CallHead, body: Buffer<ArrayBuffer>): Promise<void> {
    try {
      const request = requestOf(head, body, call)
      await call.send(request ? await this.parts.answer(request, head.hop) : new Response(null, { status: 400 }))
    } catch (error) {
      this.write(FRAME.broken, call.id)
      if (!call.hasHungUp) this.parts.onFault(reasonOf(error))
    } finally {
      this.calls.delete(call.id)
    }
  }

  private send(message: Uint8Array): void {
    if (this.socket?.sendBinary(message) === 0) this.socket.terminate()
  }
}

class IncomingCall {
  readonly id: number
  private readonly link: IncomingLink
  private abort: AbortController | null = null
  /** Whether the caller has hung up. */
  hasHungUp = false
  private credit = WINDOW_BYTES
  private whenAllowed: (() => void) | null = null
  private reader: ReadableStreamDefaultReader<Uint8Array> | null = null

  constructor(id: number, link: IncomingLink) {
    this.id = id
    this.link = link
  }

  /** Aborted when the caller hangs up. Created on first use. */
  get signal(): AbortSignal {
    this.abort ??= new AbortController()
    if (this.hasHungUp) this.abort.abort()
    return this.abort.signal
  }

  hangUp(): void {
    this.hasHungUp = true
    this.abort?.abort()
    this.allow(0)
    void this.reader?.cancel().catch(() => undefined)
  }

  allow(bytes: number): void {
    this.credit += bytes
    this.whenAllowed?.()
  }

  /** Sends the response, as fast as the other node accepts it. */
  async send(response: Response): Promise<void> {
    const { id, link } = this
    if (this.hasHungUp) return void response.body?.cancel().catch(() => undefined)
    const head = responseHeadText(response)
    const whole = wholeBytes(response)
    // In one frame: a response in two messages becomes a stream at the other node.
    if (whole && whole.byteLength <= WHOLE_BYTES && !link.isFull) return link.answer(id, head, whole)
    link.write(FRAME.head, id, head)
    if (whole) await this.sendPart(whole)
    else if (response.body) await this.sendStream(response.body)
    if (!this.hasHungUp) link.write(FRAME.end, id)
  }

  private async sendStream(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader()
    this.reader = reader
    for (let part = await reader.read(); !part.done; part = await reader.read()) await this.sendPart(part.value)
  }

  private async sendPart(bytes: Uint8Array): Promise<void> {
    const { id, link } = this
    let rest = bytes
    while (rest.byteLength > 0 && !this.hasHungUp) {
      if (link.isFull) await link.drain
      else if (this.credit <= 0) await new Promise<void>((resolve) => (this.whenAllowed = resolve))
      else {
        const part = rest.subarray(0, this.credit)
        this.credit -= part.byteLength
        link.write(FRAME.part, id, '', part)
        rest = rest.subarray(part.byteLength)
      }
    }
  }
}

/** The body of a response, if it is available without a stream. */
function wholeBytes(response: Response): Uint8Array | null {
  const whole = wholeBodyOf(response)
  if (whole !== undefined) return typeof whole === 'string' ? Buffer.from(whole) : whole
  return response.body === null ? NO_BYTES : null
}

const NO_BYTES = new Uint8Array()

/** A request whose signal is created on first use. */
class LinkedRequest extends Request {
  private readonly call: IncomingCall

  constructor(call: IncomingCall, url: string, init: RequestInit) {
    super(url, init)
    this.call = call
  }

  override get signal(): AbortSignal {
    return this.call.signal
  }
}

/** Null if a caller's headers are not valid for a request: that must not affect other calls. */
function requestOf({ method, url, headers }: CallHead, body: Buffer<ArrayBuffer>, call: IncomingCall): Request | null {
  try {
    return new LinkedRequest(call, url, body.byteLength > 0 ? { method, headers, body } : { method, headers })
  } catch {
    return null
  }
}
