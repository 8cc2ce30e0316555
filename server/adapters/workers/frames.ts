import { isCount, parsedJson } from '../../core/json'

/**
 * The frames between a primary and its workers: a header of 33 bytes, big endian, and a JSON array as payload.
 *
 * | at | bytes | member |
 * |---|---|---|
 * | 0 | 4 | length of all that follows |
 * | 4 | 1 | code of the kind |
 * | 5 | 4 | epoch of the primary |
 * | 9 | 8 | number of the frame in its session, from 1; 0: not numbered |
 * | 17 | 8 | number of the last frame that the sender received |
 * | 25 | 8 | number of the request that it makes or answers; 0: none |
 *
 * Numbers of 8 bytes are doubles with the value of a safe integer: reading one allocates nothing.
 */
export const HEADER_BYTES = 33
const LENGTH_BYTES = 4

export type Side = 'worker' | 'primary'

interface KindTraits {
  readonly code: number
  /** `both`: sides of a session. Only frames of the handshake are read before both have proved themselves. */
  readonly from: Side | 'both' | 'handshake'
  /** Of the payload. */
  readonly maxBytes: number
  /** Frames of a lower order are sent first: what ends a call before what begins one. */
  readonly order: 0 | 1 | 2
}

const KB = 1024

export const KINDS = {
  hello: { code: 1, from: 'handshake', maxBytes: KB, order: 0 },
  proof: { code: 2, from: 'handshake', maxBytes: KB, order: 0 },
  welcome: { code: 3, from: 'handshake', maxBytes: KB, order: 0 },
  refusal: { code: 4, from: 'handshake', maxBytes: KB, order: 0 },
  /** Says only what was received. Not numbered. */
  ack: { code: 8, from: 'both', maxBytes: 0, order: 0 },
  /** Asks for an acknowledgement, which renews a lease. */
  beat: { code: 9, from: 'both', maxBytes: 0, order: 0 },
  /** Has room for recalled items. */
  answer: { code: 10, from: 'both', maxBytes: 4 * KB * KB, order: 0 },
  claim: { code: 16, from: 'worker', maxBytes: 16 * KB, order: 0 },
  capture: { code: 17, from: 'worker', maxBytes: 16 * KB, order: 0 },
  keep: { code: 18, from: 'worker', maxBytes: 16 * KB, order: 0 },
  abandoned: { code: 19, from: 'worker', maxBytes: KB, order: 0 },
  note: { code: 20, from: 'worker', maxBytes: 16 * KB, order: 2 },
  hold: { code: 21, from: 'worker', maxBytes: 8 * KB, order: 1 },
  /** Must not overtake the hold of its call, so both have one order. */
  release: { code: 22, from: 'worker', maxBytes: KB, order: 1 },
  /** The caller hung up and the call goes on. */
  alone: { code: 23, from: 'worker', maxBytes: KB, order: 1 },
  admit: { code: 24, from: 'worker', maxBytes: 8 * KB, order: 2 },
  counters: { code: 25, from: 'worker', maxBytes: 256 * KB, order: 2 },
  /** Before the capture of its call. */
  items: { code: 26, from: 'worker', maxBytes: 4 * KB * KB, order: 0 },
  recall: { code: 27, from: 'worker', maxBytes: 64 * KB, order: 1 },
  push: { code: 34, from: 'primary', maxBytes: 4 * KB * KB, order: 1 },
} as const satisfies Record<string, KindTraits>

export type Kind = keyof typeof KINDS
export type HandshakeKind = 'hello' | 'proof' | 'welcome' | 'refusal'
export type SessionKind = Exclude<Kind, HandshakeKind>

/** By their codes. */
function kindsFrom(...senders: readonly KindTraits['from'][]): readonly (Kind | undefined)[] {
  const table: Kind[] = []
  for (const kind of Object.keys(KINDS) as Kind[])
    if (senders.includes(KINDS[kind].from)) table[KINDS[kind].code] = kind
  return table
}

const HANDSHAKE = kindsFrom('handshake')
/** What each side may send in a session. */
const SESSION = { worker: kindsFrom('both', 'worker'), primary: kindsFrom('both', 'primary') }

export interface FrameHead {
  readonly kind: Kind
  readonly epoch: number
  readonly number: number
  readonly received: number
  readonly request: number
}

export interface Frame extends FrameHead {
  readonly payload: Payload
  /** Bytes of the payload. */
  readonly size: number
}

/** Values of JSON. Infinity and NaN become null, as in all JSON. */
export type Payload = readonly unknown[]

const EMPTY: Payload = []

/** A payload as it is sent. */
export function payloadText(payload: Payload): string {
  return payload.length === 0 ? '' : JSON.stringify(payload)
}

/** Headers are written and read here: a view of each piece of memory would cost more than the rest of a frame. */
const HEADER = Buffer.alloc(HEADER_BYTES)

/** Writes a frame whose text has `size` bytes of UTF-8. There must be room for both, and the size be within the kind's limit. */
export function writeFrame(bytes: Buffer, at: number, head: FrameHead, text: string, size: number): void {
  HEADER.writeUInt32BE(HEADER_BYTES - LENGTH_BYTES + size)
  HEADER[4] = KINDS[head.kind].code
  HEADER.writeUInt32BE(head.epoch, 5)
  HEADER.writeDoubleBE(head.number, 9)
  HEADER.writeDoubleBE(head.received, 17)
  HEADER.writeDoubleBE(head.request, 25)
  bytes.set(HEADER, at)
  if (size > 0) bytes.write(text, at + HEADER_BYTES, 'utf8')
}

/** One frame by itself; null if its payload is above the limit of its kind. */
export function encodedFrame(head: FrameHead, payload: Payload): Buffer | null {
  const text = payloadText(payload)
  const size = Buffer.byteLength(text)
  if (size > KINDS[head.kind].maxBytes) return null
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + size)
  writeFrame(bytes, 0, head, text, size)
  return bytes
}

/** Why bytes are no frames. The connection is of no use from then on. */
export type FrameFault = 'unknown_kind' | 'too_short' | 'too_large' | 'bad_number' | 'bad_text' | 'bad_payload'

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads frames out of chunks that are cut anywhere. It keeps at most one unfinished frame, whose size its kind limits, and never
 * throws: after the first fault it reads nothing more.
 */
export class FrameDecoder {
  private kinds = HANDSHAKE
  private sink: (frame: Frame) => void
  private fault: FrameFault | null = null
  /** An unfinished frame: as much of it as `filled` says. */
  private partial: Buffer | null = null
  private filled = 0

  constructor(sink: (frame: Frame) => void) {
    this.sink = sink
  }

  /** The other side is proved: from the next frame on, also in the same chunk, it reads what that side sends in a session. */
  beginSession(from: Side, sink: (frame: Frame) => void): void {
    this.kinds = SESSION[from]
    this.sink = sink
  }

  /** Reads a chunk, which is not kept. Gives whole frames to the sink, which must not throw. Returns what is wrong with the bytes. */
  push(chunk: Uint8Array): FrameFault | null {
    const bytes = bufferOver(chunk)
    let at = 0
    while (at < bytes.length && this.fault === null) {
      const left = bytes.length - at
      const length = this.partial === null && left >= HEADER_BYTES ? this.lengthAt(bytes, at) : null
      if (length !== null && length <= left) {
        this.give(bytes, at, length)
        at += length
      } else if (this.fault === null) at += this.fill(bytes, at)
    }
    return this.fault
  }

  /** Adds to the unfinished frame, of which first the header is read. Returns how many bytes it took. */
  private fill(bytes: Buffer, at: number): number {
    const partial = this.partial ?? Buffer.allocUnsafe(HEADER_BYTES)
    this.partial = partial
    const taken = bytes.copy(partial, this.filled, at)
    this.filled += taken
    const length = this.filled < partial.length ? null : this.lengthAt(partial, 0)
    if (length === null) return taken
    if (length > partial.length) {
      this.partial = Buffer.allocUnsafe(length)
      partial.copy(this.partial)
    } else {
      this.partial = null
      this.filled = 0
      this.give(partial, 0, length)
    }
    return taken
  }

  /** Reads the header there. The length of the whole frame; null if its kind or length is wrong. */
  private lengthAt(bytes: Buffer, at: number): number | null {
    bytes.copy(HEADER, 0, at)
    const kind = this.kinds[HEADER[4] ?? 0]
    if (kind === undefined) return this.fail('unknown_kind')
    const length = LENGTH_BYTES + HEADER.readUInt32BE()
    if (length < HEADER_BYTES) return this.fail('too_short')
    return length > HEADER_BYTES + KINDS[kind].maxBytes ? this.fail('too_large') : length
  }

  /** Takes a frame whose header was read just now. */
  private give(bytes: Buffer, at: number, length: number): void {
    const kind = this.kinds[HEADER[4] ?? 0] as Kind
    const epoch = HEADER.readUInt32BE(5)
    const number = HEADER.readDoubleBE(9)
    const received = HEADER.readDoubleBE(17)
    const request = HEADER.readDoubleBE(25)
    const areCounts = isCount(number) && isCount(received) && isCount(request)
    const payload = areCounts ? this.payload(bytes.subarray(at + HEADER_BYTES, at + length)) : this.fail('bad_number')
    const size = length - HEADER_BYTES
    if (payload !== null) this.sink({ kind, epoch, number, received, request, payload, size })
  }

  private payload(bytes: Buffer): Payload | null {
    if (bytes.length === 0) return EMPTY
    let text: string
    try {
      text = UTF8.decode(bytes)
    } catch {
      return this.fail('bad_text')
    }
    const value = parsedJson(text)
    return Array.isArray(value) ? value : this.fail('bad_payload')
  }

  private fail(fault: FrameFault): null {
    this.fault = fault
    this.partial = null
    return null
  }
}

function bufferOver(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
