/** The kinds of frames. The numbers are on the wire: a changed meaning needs a path other than `LINK_PATH`. */
export const FRAME = {
  /** A request: its `CallHead` and its complete body. */
  call: 1,
  /** The caller has hung up, or the forwarding node gave up. */
  cancel: 2,
  /** How many more bytes of the response may be sent. */
  more: 3,
  /** Status and headers of a response that comes in parts. */
  head: 4,
  /** A part of that response's body. */
  part: 5,
  /** The response is complete. */
  end: 6,
  /** The response is cut off. */
  broken: 7,
  /** Belongs to no call: the node accepts no new calls on this link. */
  last: 8,
  /** A complete response: status, headers and body. */
  answer: 9,
} as const
export type FrameKind = (typeof FRAME)[keyof typeof FRAME]

/** How many bytes of one response may be in flight before the forwarding node asks for more. */
export const WINDOW_BYTES = 256 * 1024
/** Responses up to this size are sent and passed on in one piece, which costs less than a stream. */
export const WHOLE_BYTES = 64 * 1024
/** With this few calls, frames are not batched. */
export const FEW_CALLS = 2

/** Length of the text, length of the bytes, number of the call: 4 bytes each, little-endian; and the kind. */
const HEADER_BYTES = 13
/** More than a whole window. When it is full, it is sent before the turn ends; a larger frame gets its own buffer. */
const BUFFER_BYTES = WINDOW_BYTES + 64 * 1024
const MAX_ID = 0xffff_ffff
const NO_BYTES = new Uint8Array()

/** The number of the next call on a link. Numbers repeat after four billion calls, which takes a busy link ten days. */
export function nextId(last: number, isInUse: (id: number) => boolean): number {
  let id = last
  do id = id >= MAX_ID ? 1 : id + 1
  while (isInUse(id))
  return id
}

/** Collects the frames of one turn of the event loop and sends them as one message, because a message costs more than a call in it. Frames are never split. */
export class FrameWriter {
  private readonly send: (message: Uint8Array) => void
  private buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  private used = 0
  private isScheduled = false

  /** `send` must copy the message before it returns. */
  constructor(send: (message: Uint8Array) => void) {
    this.send = send
  }

  /** Adds a frame. Sends it immediately if it is urgent, unless others of this turn are already waiting. */
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
   * Delays sending until this turn ends. Not in a microtask: what Bun's server sends in one while it delivers a message is held back until the next
   * send.
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
   * Sends the waiting frames if another does not fit into the buffer. Allocating a larger buffer for each burst of responses would cost more than another
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
    const textEnd = from + message.readUInt32LE(at)
    const end = textEnd + message.readUInt32LE(at + 4)
    if (end > message.byteLength) throw new Error('a message ends within a frame')
    each({
      kind: message[at + 12] ?? 0,
      id: message.readUInt32LE(at + 8),
      text: textEnd === from ? '' : message.toString('utf8', from, textEnd),
      bytes: message.subarray(textEnd, end),
    })
    at = end
  }
}
