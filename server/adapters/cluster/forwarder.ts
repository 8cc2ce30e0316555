import type { CellName } from '../../core/cluster/cells'
import {
  type FindOwner,
  type ForwardedCall,
  type Forwarding,
  type HopSigner,
  OPERATOR,
  type Peer,
} from '../../core/cluster/hop'
import { inTime } from '../../core/in-time'
import { reasonOf } from '../../core/result'
import { callHeadText } from './call-head'
import { type Carrier, type ExchangeOutcome, ForwardedExchange } from './forwarded-exchange'
import { LINK_PATH, PROBE_PATH } from './hop-gate'
import { NO_BODY, type OutgoingBody, outgoingBody, outgoingHead, outgoingPath } from './outgoing-request'
import type { PeerConnection } from './peer-connection'
import { PeerConnections } from './peer-connections'

/** Longer than any wait for a model's first byte (300 s by default): the owner itself answers when an upstream is late. */
const DEADLINE_MS = 330_000
/** A small body that takes longer is not forwarded. */
const SMALL_BODY_MS = 30_000
/** The limit for bodies of requests that wait for an owner. Beyond it, requests with a body are refused immediately. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024
const SWEEP_MS = 500

/** Why the owner's response is missing. */
export interface Missing {
  /** `unknown`: the request may have run, so only its `Idempotency-Key` makes it safe to send again. */
  readonly outcome: 'did not run' | 'unknown' | 'late body'
  readonly reason: string
}

export interface ForwarderParts {
  readonly signer: HopSigner
  /** The time of day that all nodes agree on, in milliseconds. */
  readonly now: () => number
  readonly findOwner: FindOwner
  /** This node's response when the owner's is missing: 503 with `Retry-After`, in the format of the path. */
  readonly refuse: (request: Request, call: ForwardedCall, missing: Missing) => Response
  /** Shorter times and less memory, for tests. */
  readonly deadlineMs?: number
  readonly silentMs?: number
  readonly stalledMs?: number
  readonly maxWaitingBytes?: number
}

/**
 * Forwards requests to the owner, streamed both ways, and sends none twice, because it may have been charged (ADR 39). Only a request that did not arrive,
 * or that a node refused because it is not the owner, is sent once more, to the new owner.
 */
export class Forwarder implements Forwarding {
  private readonly parts: ForwarderParts
  private readonly deadlineMs: number
  /** By URL, with the owner for which each was last used. */
  private readonly peers = new Map<string, { readonly peer: PeerConnections; to: Peer }>()
  private readonly running = new Set<ForwardedExchange>()
  private readonly onEnd = (exchange: ForwardedExchange) => {
    this.running.delete(exchange)
    if (this.running.size === 0) this.onIdle?.()
  }
  private onIdle: (() => void) | null = null
  private timer: ReturnType<typeof setInterval> | null = null
  private waitingBytes = 0
  private isClosed = false

  constructor(parts: ForwarderParts) {
    this.parts = parts
    this.deadlineMs = parts.deadlineMs ?? DEADLINE_MS
  }

  forward(request: Request, to: Peer, call: ForwardedCall): Promise<Response> {
    const body = outgoingBody(request)
    if (body !== 'small') return this.sent(request, to, call, body)
    return smallBody(request).then(
      (whole) => this.sent(request, to, call, whole),
      (error: unknown) => this.parts.refuse(request, call, { outcome: 'late body', reason: reasonOf(error) }),
    )
  }

  async send(request: Request, to: Peer, call: ForwardedCall): Promise<Response | null> {
    const body = outgoingBody(request)
    const outcome = await this.attempt(request, to, call, body === 'small' ? await smallBody(request) : body)
    return outcome.kind === 'answered' ? outcome.response : null
  }

  private async sent(request: Request, to: Peer, call: ForwardedCall, body: OutgoingBody): Promise<Response> {
    const first = await this.attempt(request, to, call, body)
    if (first.kind === 'answered') return first.response
    const mayRepeat = first.kind === 'not done' && !(body.kind === 'stream' && body.stream.locked)
    const next = mayRepeat ? await this.successor(to, body, request.signal) : null
    const last = next ? await this.attempt(request, next, call, body) : first
    if (last.kind === 'answered') return last.response
    const outcome = last.kind === 'lost' ? 'unknown' : 'did not run'
    return this.parts.refuse(request, call, { outcome, reason: last.reason })
  }

  /** The next owner; null if there is none in time. */
  private async successor(to: Peer, body: OutgoingBody, signal: AbortSignal): Promise<Peer | null> {
    const { findOwner, maxWaitingBytes = MAX_WAITING_BYTES } = this.parts
    const bytes = body.kind === 'whole' ? body.bytes.byteLength : 0
    if (signal.aborted || (bytes > 0 && this.waitingBytes + bytes > maxWaitingBytes)) return null
    this.waitingBytes += bytes
    try {
      return await findOwner(to, signal).catch(() => null)
    } finally {
      this.waitingBytes -= bytes
    }
  }

  abandon(cell: CellName, beforeTerm: number): void {
    for (const exchange of this.running)
      if (exchange.cell === cell && exchange.term < beforeTerm) exchange.replaced(performance.now())
  }

  async ended(maxMs: number): Promise<void> {
    if (this.running.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.onIdle = resolve
    const timer = setTimeout(() => this.abandonAll('this node stops'), maxMs)
    await promise
    clearTimeout(timer)
  }

  async close(): Promise<void> {
    this.isClosed = true
    if (this.timer) clearInterval(this.timer)
    this.timer = null
    this.abandonAll('this node stops')
    for (const { peer } of this.peers.values()) peer.retire()
    this.peers.clear()
  }

  private abandonAll(reason: string): void {
    for (const exchange of [...this.running]) exchange.abandon(reason)
  }

  /** Sends the request to one node. */
  private attempt(request: Request, to: Peer, call: ForwardedCall, body: OutgoingBody): Promise<ExchangeOutcome> {
    if (this.isClosed) return Promise.resolve({ kind: 'not done', reason: 'this node stops' })
    const peer = this.peer(to)
    const linked = body.kind === 'whole' ? this.onLink(request, peer, to, call, body) : null
    return linked ?? this.onConnection(request, peer, to, call, body)
  }

  /** Sends the request on a connection of its own. */
  private async onConnection(
    request: Request,
    peer: PeerConnections,
    to: Peer,
    call: ForwardedCall,
    body: OutgoingBody,
  ): Promise<ExchangeOutcome> {
    let connection: PeerConnection
    try {
      // A stream cannot be sent to another node once part of it has been read.
      if (body.kind === 'stream' && !(await this.isOwner(peer, to, call)))
        return { kind: 'not done', reason: 'it is not the owner' }
      connection = peer.taken() ?? (await peer.connect())
    } catch (error) {
      return { kind: 'not done', reason: reasonOf(error) }
    }
    return new Promise((settle) => {
      const exchange = this.exchange(connection, to, call, settle)
      if (request.signal.aborted) return exchange.callerGone()
      request.signal.addEventListener('abort', () => exchange.callerGone())
      const { method } = request
      const path = outgoingPath(request.url)
      const head = outgoingHead(request, { path, host: peer.host, hop: this.signed(method, path, to, call) }, body)
      const isMore = body.kind === 'stream'
      connection.begin(exchange, {
        isHead: method === 'HEAD',
        bytes: isMore ? head : withBody(head, body.bytes),
        isMore,
      })
      if (isMore) void upload(body, connection, exchange)
    })
  }

  /** Sends the request on a link with others; null if no link can take it. */
  private onLink(
    request: Request,
    peer: PeerConnections,
    to: Peer,
    call: ForwardedCall,
    body: OutgoingBody & { kind: 'whole' },
  ): Promise<ExchangeOutcome> | null {
    const { requestId } = call
    const link = peer.usableLink(() => this.signed('GET', LINK_PATH, to, { requestId, address: OPERATOR }))
    const head = link && callHeadText(request, to, call, body)
    if (!link || head === null) return null
    return new Promise((settle) => {
      const linked = link.newCall()
      const exchange = this.exchange(linked, to, call, settle)
      if (request.signal.aborted) return exchange.callerGone()
      request.signal.addEventListener('abort', () => exchange.callerGone())
      linked.begin(exchange, head, body.bytes)
    })
  }

  /** Asks a node whether it is the owner. Throws if the node is unreachable. */
  private async isOwner(peer: PeerConnections, to: Peer, call: ForwardedCall): Promise<boolean> {
    const outcome = await this.probe(peer.taken() ?? (await peer.connect()), peer, to, call)
    return outcome.kind === 'answered' && outcome.response.status === 204
  }

  private probe(
    connection: PeerConnection,
    peer: PeerConnections,
    to: Peer,
    call: ForwardedCall,
  ): Promise<ExchangeOutcome> {
    return new Promise((settle) => {
      const exchange = this.exchange(connection, to, call, settle)
      const hop = this.signed('GET', PROBE_PATH, to, { requestId: call.requestId, address: OPERATOR })
      const head = outgoingHead(
        new Request(`http://owner${PROBE_PATH}`),
        { path: PROBE_PATH, host: peer.host, hop },
        NO_BODY,
      )
      connection.begin(exchange, { isHead: false, bytes: head, isMore: false })
    })
  }

  /** Rejects if the node does not answer, whether or not it is the owner. */
  private async ask(peer: PeerConnections, to: Peer): Promise<void> {
    const connection = await peer.connect(true)
    const outcome = await this.probe(connection, peer, to, { address: OPERATOR, requestId: 'watch' })
    if (outcome.kind === 'lost') throw new Error(outcome.reason)
  }

  private exchange(
    carrier: Carrier,
    { cell, term }: Peer,
    call: ForwardedCall,
    settle: (outcome: ExchangeOutcome) => void,
  ) {
    const exchange = new ForwardedExchange(
      carrier,
      { cell, term, call, startedAt: performance.now() },
      settle,
      this.onEnd,
    )
    this.running.add(exchange)
    return exchange
  }

  private signed(method: string, path: string, { cell, term }: Peer, call: ForwardedCall): string {
    const { signer, now } = this.parts
    const { address, requestId, staff } = call
    const claim = { method, target: path, cell, term, address, requestId, deadlineMs: this.deadlineMs, staff }
    return signer.sign(claim, now())
  }

  private peer(to: Peer): PeerConnections {
    const known = this.peers.get(to.url)
    // A node that announced its stop may have been restarted.
    if (known && !(known.peer.hasLeft && known.to.nodeId !== to.nodeId)) {
      known.to = to
      return known.peer
    }
    known?.peer.retire()
    const peer = new PeerConnections(to.url, () => performance.now(), this.parts.silentMs)
    this.peers.set(to.url, { peer, to })
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS)
    return peer
  }

  private sweep(): void {
    const now = performance.now()
    for (const exchange of [...this.running]) exchange.check(now, this.deadlineMs, this.parts.stalledMs)
    for (const [url, { peer, to }] of this.peers) {
      peer.sweep()
      peer.watch(() => this.ask(peer, to))
      if (peer.isForgettable) this.peers.delete(url)
    }
    if (this.peers.size > 0 || !this.timer) return
    clearInterval(this.timer)
    this.timer = null
  }
}

/** Passes a body on as it arrives, as fast as the other node accepts it. */
async function upload(
  { stream, length }: Extract<OutgoingBody, { kind: 'stream' }>,
  connection: PeerConnection,
  exchange: ForwardedExchange,
): Promise<void> {
  let sent = 0
  const reader = stream.getReader()
  // The owner answered without reading the rest, or is gone. Cancelling fails if the body has already ended.
  exchange.whenOver = () => void reader.cancel().catch(() => undefined)
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (exchange.isOver) return
      sent += part.value.byteLength
      exchange.uploaded()
      await connection.send(length === null ? asChunk(part.value) : part.value)
    }
  } catch {
    return exchange.callerGone()
  }
  if (exchange.isOver) return
  // A body that was cut off must not look complete.
  if (length !== null && sent !== length) return exchange.callerGone()
  if (length === null) await connection.send(LAST_CHUNK)
  connection.endUpload()
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const LINE_END = Buffer.from('\r\n')

/** Returns no bytes for no bytes: an empty chunk would end the body. */
function asChunk(bytes: Uint8Array): Uint8Array {
  const size = Buffer.from(`${bytes.byteLength.toString(16)}\r\n`)
  return bytes.byteLength === 0 ? bytes : Buffer.concat([size, bytes, LINE_END])
}

function withBody(head: Buffer, body: Uint8Array): Uint8Array {
  return body.byteLength === 0 ? head : Buffer.concat([head, body])
}

/** Rejects if the caller hangs up or takes too long. */
async function smallBody(request: Request): Promise<OutgoingBody> {
  const late = () => new Error('the body did not arrive in time')
  return { kind: 'whole', bytes: await inTime(request.bytes(), SMALL_BODY_MS, late) }
}
