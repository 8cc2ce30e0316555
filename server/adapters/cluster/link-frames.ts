/** What a frame says. The numbers are on the wire, so a frame of another meaning needs another path than `LINK_PATH`. */
export const FRAME = {
  /** A request: its `CallHead` and its whole body. */
  call: 1,
  /** The caller has hung up, or the first node gave up. */
  cancel: 2,
  /** So many more bytes of the response may be sent. */
  more: 3,
  /** Status and headers of a response that comes in parts. */
  head: 4,
  /** A part of its body. */
  part: 5,
  /** It is whole. */
  end: 6,
  /** It breaks off. */
  broken: 7,
  /** Of no call: the node takes no new ones on this link. */
  last: 8,
  /** A whole response: status and headers, and its body. */
  answer: 9,
} as const
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

/** How many bytes of one response may be on their way before the first node asks for more. */
export const WINDOW_BYTES = 256 * 1024
/** Responses up to this size are sent and passed on as a whole, which costs less than a stream. */
export const WHOLE_BYTES = 64 * 1024
/** So few calls share nothing, so their frames need not wait for others. */
export const FEW_CALLS = 2

/** Length of the text, length of the bytes, number of the call: 4 bytes each, little-endian; and the kind. */
const HEADER_BYTES = 13
/** A whole window and more. What is more goes out before the turn ends; a frame that is larger has a buffer of its own. */
const BUFFER_BYTES = WINDOW_BYTES + 64 * 1024
const MAX_ID = 0xffff_ffff
const NO_BYTES = new Uint8Array()

/** The number of the next call on a link. Numbers come again after four thousand million calls, which a busy link carries in ten days. */
export function nextId(last: number, isInUse: (id: number) => boolean): number {
  let id = last
  do id = id >= MAX_ID ? 1 : id + 1
  while (isInUse(id))
  return id
}

/** Collects the frames of one turn of the event loop, and sends them as one message: a message costs more than a call in it. No frame is split. */
export class FrameWriter {
  private readonly send: (message: Uint8Array) => void
  private buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  private used = 0
  private isScheduled = false

  /** `send` must copy the message before it returns. */
  constructor(send: (message: Uint8Array) => void) {
    this.send = send
  }

  /** Adds a frame, and sends it at once if it is urgent, unless others of this turn are waiting already. */
  add(kind: FrameKind, id: number, text = '', bytes: Uint8Array = NO_BYTES, isUrgent = false): void {
    this.makeRoom(text, bytes)
    const { buffer, used } = this
    const textBytes = text === '' ? 0 : buffer.write(text, used + HEADER_BYTES)
    buffer.writeUInt32LE(textBytes, used)
    buffer.writeUInt32LE(bytes.byteLength, used + 4)
    buffer.writeUInt32LE(id, used + 8)
    buffer[used + 12] = kind
    buffer.set(bytes, used + HEADER_BYTES + textBytes)
    this.used = used + HEADER_BYTES + textBytes + bytes.byteLength
    if (isUrgent && !this.isScheduled) this.flush()
    else this.wait()
  }

  /**
   * Sends nothing before this turn ends. Not in a microtask: what Bun's server sends in one, while it hands over a message, stays behind until the
   * next one is sent.
   */
  wait(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.endTurn)
  }

  private readonly endTurn = () => {
    this.isScheduled = false
    this.flush()
  }

  flush(): void {
    if (this.used === 0) return
    const message = this.buffer.subarray(0, this.used)
    this.used = 0
    this.send(message)
    if (this.buffer.byteLength > BUFFER_BYTES) this.buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  }

  /**
   * Sends what waits if a frame does not fit behind it. To make larger buffers for each burst of responses would cost more than another
   * message.
   */
  makeRoom(text: string, bytes: Uint8Array): void {
    // A character takes up to three bytes.
    const most = HEADER_BYTES + text.length * 3 + bytes.byteLength
    if (this.used + most <= this.buffer.byteLength) return
    this.flush()
    if (most > this.buffer.byteLength) this.buffer = Buffer.allocUnsafeSlow(most)
  }
}

export interface Frame {
  readonly kind: number
  readonly id: number
  readonly text: string
  /** A view of the message. */
  readonly bytes: Buffer<ArrayBuffer>
}

/** Reads the frames of one message. Throws if it does not end with a frame. */
export function readFrames(message: Buffer<ArrayBuffer>, each: (frame: Frame) => void): void {
  let at = 0
  while (at < message.byteLength) {
    const from = at + HEADER_BYTES
    if (from > message.byteLength) throw new Error('a message ends within a frame')
    const behindText = from + message.readUInt32LE(at)
    const end = behindText + message.readUInt32LE(at + 4)
    if (end > message.byteLength) throw new Error('a message ends within a frame')
    each({
      kind: message[at + 12] ?? 0,
      id: message.readUInt32LE(at + 8),
      text: behindText === from ? '' : message.toString('utf8', from, behindText),
      bytes: message.subarray(behindText, end),
    })
    at = end
  }
}
