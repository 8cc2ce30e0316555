import { HOP_HEADER } from '../../core/cluster/hop'
import { LINK_PATH } from './hop-gate'
import { FEW_CALLS, FRAME, FrameWriter, nextId, readFrames, WINDOW_BYTES } from './link-frames'
import type { Exchange } from './peer-connection'
import { type ResponseHead, responseHeadIn } from './response-head'

/** The maximum of concurrent calls on a link. */
const MAX_CALLS = 4096
/** With this much unsent, further requests use separate connections. */
const MAX_UNSENT_BYTES = 4 * 1024 * 1024

/** Bun's client, which has more than the DOM types include. */
interface LinkSocket extends Omit<WebSocket, 'binaryType' | 'send'> {
  binaryType: string
  send(message: Uint8Array): void
  terminate(): void
}
const LinkClient = WebSocket as unknown as new (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => LinkSocket

/** Is notified about a link. */
export interface LinkOwner {
  /** A message arrived: the other node is alive. */
  heard(): void
  /** The other node announced that it stops. */
  left(): void
  /** Whether it stays open without calls: requests to a stopping node on other connections must still arrive. `retire` checks again. */
  isNeeded(): boolean
  closed(link: OutgoingLink): void
}

/** A connection to another node that carries many calls at once (ADR 57). Messages in both directions contain many frames. */
export class OutgoingLink {
  private readonly socket: LinkSocket
  private readonly owner: LinkOwner
  private readonly calls = new Map<number, LinkedCall>()
  private readonly frames: FrameWriter
  private lastId = 0
  /** Calls that cannot have reached the other node yet. */
  private unsent: LinkedCall[] = []
  private isRetired = false
  private isClosed = false

  private constructor(socket: LinkSocket, owner: LinkOwner) {
    this.socket = socket
    this.owner = owner
    this.frames = new FrameWriter((message) => {
      if (this.isClosed) return
      for (const call of this.unsent) call.isSent = true
      this.unsent = []
      this.socket.send(message)
    })
  }

  /** Opens a link with a signed header. Rejects if the node, or a proxy in front of it, supports no links or does not answer within `withinMs`. */
  static open(url: URL, hop: string, owner: LinkOwner, withinMs: number): Promise<OutgoingLink> {
    const socket = new LinkClient(`${url.protocol === 'https:' ? 'wss' : 'ws'}://${url.host}${LINK_PATH}`, {
      headers: { [HOP_HEADER]: hop },
    })
    socket.binaryType = 'nodebuffer'
    const link = new OutgoingLink(socket, owner)
    const { promise, resolve, reject } = Promise.withResolvers<OutgoingLink>()
    const timer = setTimeout(() => socket.terminate(), withinMs)
    socket.onopen = () => resolve(link)
    socket.onmessage = ({ data }) => link.received(data as Buffer<ArrayBuffer>)
    socket.onclose = () => {
      reject(new Error('it has no links'))
      link.ended('the connection broke')
    }
    return promise.finally(() => clearTimeout(timer))
  }

  /** The number of calls in progress. */
  get size(): number {
    return this.calls.size
  }

  /** Whether it accepts further calls. */
  get takes(): boolean {
    return (
      !this.isClosed && !this.isRetired && this.calls.size < MAX_CALLS && this.socket.bufferedAmount < MAX_UNSENT_BYTES
    )
  }

  /** A new call, which `begin` sends. */
  newCall(): LinkedCall {
    return new LinkedCall(this)
  }

  /** @internal */
  add(call: LinkedCall, head: string, body: Uint8Array): number {
    const id = nextId(this.lastId, (used) => this.calls.has(used))
    this.lastId = id
    this.calls.set(id, call)
    // Send earlier frames first, so that they do not mark this call as sent.
    this.frames.makeRoom(head, body)
    this.unsent.push(call)
    this.frames.add(FRAME.call, id, head, body, this.calls.size <= FEW_CALLS)
    return id
  }

  /** @internal */
  cancel(id: number): void {
    if (!this.calls.delete(id)) return
    this.frames.add(FRAME.cancel, id)
    this.closeIfDone()
  }

  /** @internal Lets the other node send more of a response. */
  allow(id: number, bytes: number): void {
    if (this.calls.has(id)) this.frames.add(FRAME.more, id, `${bytes}`)
  }

  /** Accepts no further calls, and closes once those in progress are over. */
  retire(): void {
    this.isRetired = true
    this.closeIfDone()
  }

  /** Closes the link: calls in progress are lost. */
  ended(reason: string): void {
    if (this.isClosed) return
    this.isClosed = true
    this.socket.terminate()
    const calls = [...this.calls.values()]
    this.calls.clear()
    this.owner.closed(this)
    for (const call of calls) call.cut(reason)
  }

  private received(message: Buffer<ArrayBuffer>): void {
    this.owner.heard()
    const begun: LinkedCall[] = []
    try {
      readFrames(message, ({ kind, id, text, bytes }) => {
        const call = this.calls.get(id)
        if (kind === FRAME.last) {
          this.isRetired = true
          this.owner.left()
        }
        if (!call) return
        if (kind === FRAME.answer) {
          this.calls.delete(id)
          call.answer(responseHeadIn(text), bytes)
        } else if (kind === FRAME.head) {
          call.head(responseHeadIn(text))
          begun.push(call)
        } else if (kind === FRAME.part) call.part(bytes)
        else if (kind === FRAME.end || kind === FRAME.broken) {
          this.calls.delete(id)
          if (kind === FRAME.end) call.end()
          else call.cut("the owner's response broke off")
        }
      })
    } catch (error) {
      return void this.ended(`the owner's response cannot be read: ${error instanceof Error ? error.message : error}`)
    }
    for (const call of begun) call.stream()
    this.closeIfDone()
  }

  private closeIfDone(): void {
    if (!this.isRetired || this.isClosed || this.calls.size > 0 || this.owner.isNeeded()) return
    // The last cancellation must arrive.
    this.frames.flush()
    this.isClosed = true
    this.socket.close()
    this.owner.closed(this)
  }
}

/** One call on a link: the carrier of an exchange. */
export class LinkedCall {
  private readonly link: OutgoingLink
  private id = 0
  /** Whether the other node may have received it. */
  isSent = false
  private exchange: Exchange | null = null
  private begun: ResponseHead | null = null
  /** Parts of a response that may still arrive as a whole. */
  private parts: Buffer<ArrayBuffer>[] = []
  private isStream = false
  private isPaused = false
  /** Bytes received since the other node was last allowed to send more. */
  private received = 0

  constructor(link: OutgoingLink) {
    this.link = link
  }

  begin(exchange: Exchange, head: string, body: Uint8Array): void {
    this.exchange = exchange
    this.id = this.link.add(this, head, body)
  }

  /** The other node then sends at most what its window allows. */
  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    this.allowMore()
  }

  /** The other node sees that the caller has hung up. */
  destroy(): void {
    this.exchange = null
    this.link.cancel(this.id)
  }

  answer(head: ResponseHead, body: Buffer<ArrayBuffer>): void {
    const { exchange } = this
    this.exchange = null
    if (!exchange) return
    exchange.head({ ...head, length: body.byteLength })
    if (body.byteLength > 0) exchange.body(body)
    exchange.end()
  }

  head(head: ResponseHead): void {
    this.begun = head
  }

  part(bytes: Buffer<ArrayBuffer>): void {
    if (!this.isStream) return void this.parts.push(bytes)
    this.received += bytes.byteLength
    this.exchange?.body(bytes)
    this.allowMore()
  }

  /** The message ended before the response did: streams the response, since the rest comes later. */
  stream(): void {
    if (this.isStream || !this.exchange || !this.begun) return
    this.isStream = true
    this.exchange.head(this.begun)
    this.flushParts()
    this.allowMore()
  }

  end(): void {
    const { exchange, begun } = this
    if (!exchange || !begun) return void this.cut('a response without a head')
    if (!this.isStream) {
      exchange.head({ ...begun, length: this.parts.reduce((sum, { byteLength }) => sum + byteLength, 0) })
      this.flushParts()
    }
    this.exchange = null
    exchange.end()
  }

  cut(reason: string): void {
    const { exchange, isSent } = this
    this.exchange = null
    exchange?.cut(reason, isSent)
  }

  private flushParts(): void {
    for (const part of this.parts.splice(0)) {
      this.received += part.byteLength
      this.exchange?.body(part)
    }
  }

  private allowMore(): void {
    if (this.isPaused || this.received < WINDOW_BYTES / 2) return
    this.link.allow(this.id, this.received)
    this.received = 0
  }
}
