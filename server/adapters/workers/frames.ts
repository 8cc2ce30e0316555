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

interface KindTraits {
  readonly code: number
  /** Of the payload. */
  readonly maxBytes: number
  /** Frames of a lower order are sent first: what ends a call before what begins one. */
  readonly order: 0 | 1 | 2
}

const KB = 1024

/** Frames that prove who is on the other side. No others are read before. */
const HANDSHAKE_KINDS = {
  hello: { code: 1, maxBytes: KB, order: 0 },
  proof: { code: 2, maxBytes: KB, order: 0 },
  welcome: { code: 3, maxBytes: KB, order: 0 },
  refusal: { code: 4, maxBytes: KB, order: 0 },
} as const satisfies Record<string, KindTraits>

/** Frames that both sides of a session send. */
const COMMON_KINDS = {
  /** Says only what was received. Not numbered. */
  ack: { code: 8, maxBytes: 0, order: 0 },
  /** Asks for an acknowledgement, which renews a lease. */
  beat: { code: 9, maxBytes: 0, order: 0 },
  /** Has room for recalled items. */
  answer: { code: 10, maxBytes: 4 * KB * KB, order: 0 },
} as const satisfies Record<string, KindTraits>

/** `release` must not overtake the `hold` of its call, so both have one order. */
const WORKER_KINDS = {
  claim: { code: 16, maxBytes: 16 * KB, order: 0 },
  capture: { code: 17, maxBytes: 16 * KB, order: 0 },
  keep: { code: 18, maxBytes: 16 * KB, order: 0 },
  abandoned: { code: 19, maxBytes: KB, order: 0 },
  note: { code: 20, maxBytes: 16 * KB, order: 2 },
  hold: { code: 21, maxBytes: 8 * KB, order: 1 },
  release: { code: 22, maxBytes: KB, order: 1 },
  /** The caller hung up and the call goes on. */
  alone: { code: 23, maxBytes: KB, order: 1 },
  admit: { code: 24, maxBytes: 8 * KB, order: 2 },
  /** Before the capture of its call. */
  items: { code: 26, maxBytes: 4 * KB * KB, order: 0 },
  recall: { code: 27, maxBytes: 64 * KB, order: 1 },
  counters: { code: 25, maxBytes: 256 * KB, order: 2 },
} as const satisfies Record<string, KindTraits>

const PRIMARY_KINDS = {
  push: { code: 34, maxBytes: 4 * KB * KB, order: 1 },
} as const satisfies Record<string, KindTraits>

export type Kind =
  | keyof typeof HANDSHAKE_KINDS
  | keyof typeof COMMON_KINDS
  | keyof typeof WORKER_KINDS
  | keyof typeof PRIMARY_KINDS

export type HandshakeKind = keyof typeof HANDSHAKE_KINDS
export type SessionKind = Exclude<Kind, HandshakeKind>

export const KINDS: Readonly<Record<Kind, KindTraits>> = {
  ...HANDSHAKE_KINDS,
  ...COMMON_KINDS,
  ...WORKER_KINDS,
  ...PRIMARY_KINDS,
}

export type Side = 'worker' | 'primary'

type Codes = readonly (Kind | undefined)[]

const HANDSHAKE_CODES = codes(HANDSHAKE_KINDS)
/** What each side may send in a session. */
const SESSION_CODES: Readonly<Record<Side, Codes>> = {
  worker: codes({ ...COMMON_KINDS, ...WORKER_KINDS }),
  primary: codes({ ...COMMON_KINDS, ...PRIMARY_KINDS }),
}

function codes(kinds: Readonly<Partial<Record<Kind, KindTraits>>>): Codes {
  const table: (Kind | undefined)[] = []
  for (const kind of Object.keys(kinds) as Kind[]) table[KINDS[kind].code] = kind
  return table
}

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

/** Where frames are written: the same bytes twice. */
export interface FrameTarget {
  readonly bytes: Buffer
  readonly view: DataView
}

export function frameTarget(size: number): FrameTarget {
  const bytes = Buffer.alloc(size)
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size) }
}

/** Writes a frame whose text has `size` bytes of UTF-8. The target must have room for both, and the size be within the kind's limit. */
export function writeFrame(
  { bytes, view }: FrameTarget,
  at: number,
  head: FrameHead,
  text: string,
  size: number,
): void {
  view.setUint32(at, HEADER_BYTES - LENGTH_BYTES + size)
  view.setUint8(at + 4, KINDS[head.kind].code)
  view.setUint32(at + 5, head.epoch)
  view.setFloat64(at + 9, head.number)
  view.setFloat64(at + 17, head.received)
  view.setFloat64(at + 25, head.request)
  if (size > 0) bytes.write(text, at + HEADER_BYTES, 'utf8')
}

/** The length of a whole frame that begins there. */
export function frameLength({ view }: FrameTarget, at: number): number {
  return LENGTH_BYTES + view.getUint32(at)
}

/** The number of a frame that begins there. */
export function frameNumber({ view }: FrameTarget, at: number): number {
  return view.getFloat64(at + 9)
}

/** One frame by itself; null if its payload is above the limit of its kind. */
export function encodedFrame(head: FrameHead, payload: Payload): Buffer | null {
  const text = payloadText(payload)
  const size = Buffer.byteLength(text)
  if (size > KINDS[head.kind].maxBytes) return null
  const target = frameTarget(HEADER_BYTES + size)
  writeFrame(target, 0, head, text, size)
  return target.bytes
}

/** Why bytes are no frames. The connection is of no use from then on. */
export type FrameFault = 'unknown_kind' | 'too_short' | 'too_large' | 'bad_number' | 'bad_text' | 'bad_payload'

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads frames out of chunks that are cut anywhere. It keeps at most one unfinished frame, whose size its kind limits, and never
 * throws: after the first fault it reads nothing more.
 */
export class FrameDecoder {
  private kinds = HANDSHAKE_CODES
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
    this.kinds = SESSION_CODES[from]
    this.sink = sink
  }

  /** Reads a chunk, which is not kept. Gives whole frames to the sink, which must not throw. Returns what is wrong with the bytes. */
  push(chunk: Uint8Array): FrameFault | null {
    let at = this.complete(chunk)
    if (this.partial !== null || this.fault !== null) return this.fault
    const bytes = bufferOver(chunk)
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    while (bytes.length - at >= HEADER_BYTES) {
      const length = this.lengthAt(view, at)
      if (length === null) return this.fault
      if (bytes.length - at < length) break
      if (!this.give(bytes, view, at, length)) return this.fault
      at += length
    }
    this.keep(bytes.subarray(at), view, at)
    return this.fault
  }

  /** Adds to the unfinished frame. Returns how much of the chunk it took; all of it, if that was not enough. */
  private complete(chunk: Uint8Array): number {
    let at = 0
    while (this.partial !== null && this.fault === null) {
      const { partial } = this
      const taken = Math.min(partial.length - this.filled, chunk.length - at)
      partial.set(chunk.subarray(at, at + taken), this.filled)
      this.filled += taken
      at += taken
      if (this.filled < partial.length) break
      this.finish(partial)
    }
    return at
  }

  /** The header or the frame is complete. */
  private finish(partial: Buffer): void {
    const view = new DataView(partial.buffer, partial.byteOffset, partial.length)
    const length = this.lengthAt(view, 0)
    if (length === null) return
    if (length === partial.length) {
      this.partial = null
      this.give(partial, view, 0, length)
      return
    }
    this.partial = Buffer.allocUnsafe(length)
    this.partial.set(partial)
  }

  private keep(rest: Buffer, view: DataView, at: number): void {
    if (rest.length === 0) return
    const length = rest.length < HEADER_BYTES ? HEADER_BYTES : this.lengthAt(view, at)
    if (length === null) return
    this.partial = Buffer.allocUnsafe(length)
    this.partial.set(rest)
    this.filled = rest.length
  }

  /** The length of the whole frame; null if its kind or length is wrong. */
  private lengthAt(view: DataView, at: number): number | null {
    const kind = this.kinds[view.getUint8(at + 4)]
    if (kind === undefined) return this.fail('unknown_kind')
    const length = LENGTH_BYTES + view.getUint32(at)
    if (length < HEADER_BYTES) return this.fail('too_short')
    return length > HEADER_BYTES + KINDS[kind].maxBytes ? this.fail('too_large') : length
  }

  /** Whether the frame was read. */
  private give(bytes: Buffer, view: DataView, at: number, length: number): boolean {
    const kind = this.kinds[view.getUint8(at + 4)]
    const number = view.getFloat64(at + 9)
    const received = view.getFloat64(at + 17)
    const request = view.getFloat64(at + 25)
    const areCounts = isCount(number) && isCount(received) && isCount(request)
    const payload = areCounts ? this.payload(bytes.subarray(at + HEADER_BYTES, at + length)) : this.fail('bad_number')
    if (payload === null || kind === undefined) return false
    const size = length - HEADER_BYTES
    this.sink({ kind, epoch: view.getUint32(at + 5), number, received, request, payload, size })
    return true
  }

  private payload(bytes: Buffer): Payload | null {
    if (bytes.length === 0) return EMPTY
    let text: string
    try {
      text = UTF8.decode(bytes)
    } catch {
      return this.fail('bad_text')
    }
    try {
      const value: unknown = JSON.parse(text)
      return Array.isArray(value) ? value : this.fail('bad_payload')
    } catch {
      return this.fail('bad_payload')
    }
  }

  private fail(fault: FrameFault): null {
    this.fault = fault
    this.partial = null
    return null
  }
}

function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0
}

function bufferOver(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}
