import { WaitingBytes } from '../waiting-bytes'

const NONE: Uint8Array = new Uint8Array()
const MAX_ELEMENT = 16 * 1024 * 1024

/** Reads a JSON array incrementally and passes on each element that is an object. Holds back the end of the array. */
export class JsonElements {
  ending: Uint8Array = NONE
  private readonly show: (element: Uint8Array) => void
  private readonly pending = new WaitingBytes()
  private scanned = 0
  private start = -1
  private depth = 0
  private inString = false
  private escaped = false

  constructor(show: (element: Uint8Array) => void) {
    this.show = show
  }

  push(chunk: Uint8Array): Uint8Array {
    const data = this.pending.with(chunk)
    let sent = 0
    for (let at = this.scanned; at < data.length; at++) {
      const byte = data[at]
      if (this.inString) {
        if (this.escaped) this.escaped = false
        else if (byte === 0x5c) this.escaped = true
        else if (byte === 0x22) this.inString = false
      } else if (byte === 0x22) this.inString = true
      else if (byte === 0x7b) {
        if (this.depth++ === 0) this.start = at
      } else if (byte === 0x7d && --this.depth === 0) {
        this.show(data.subarray(this.start, at + 1))
        this.start = -1
        sent = at + 1
      } else if (byte === 0x5d && this.depth === 0) {
        this.ending = data.slice(at)
        this.pending.keep(NONE)
        this.scanned = 0
        return data.subarray(0, at)
      }
    }
    if (data.length - sent > MAX_ELEMENT) throw new RangeError('an element of the stream does not end')
    // An incomplete element waits. The opening bracket and the commas are sent with the element that follows them.
    this.pending.keep(data.subarray(sent))
    this.scanned = this.pending.length
    if (this.start >= 0) this.start -= sent
    return data.subarray(0, sent)
  }

  end(): Uint8Array {
    const rest = this.pending.take()
    this.scanned = 0
    return rest
  }
}
