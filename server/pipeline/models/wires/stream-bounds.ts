import type { ChunkGuard } from '../../stream'

const LINE_FEED = 0x0a
const COLON = 0x3a

const MEBIBYTE = 1024 * 1024
/** Room for an event with one token: its JSON, 20 top log probabilities, and padding against traffic analysis. */
const BYTES_PER_TOKEN = 4096
const EVENTS_PER_TOKEN = 8
/** In addition to the tokens: opening and closing events, signatures, vendor additions. */
const SPARE_BYTES = 16 * MEBIBYTE
const SPARE_EVENTS = 65_536
/** Consecutive keep-alives: at 30 bytes each, hours of them. */
const MAX_QUIET_BYTES = MEBIBYTE
/** Shorter lines have no content: ends of events, event names, pings. */
const CONTENT_BYTES = 32

/** Limits of a stream, whatever its upstream sends. */
export interface StreamBounds {
  readonly bytes: number
  /** Lines with content. */
  readonly lines: number
  /** Consecutive bytes without content. */
  readonly quietBytes: number
  /** Milliseconds without content. */
  readonly quietMs: number
}

/** The bounds of a stream with this many output tokens. */
export function streamBounds(outputTokens: number, quietMs: number): StreamBounds {
  return {
    bytes: SPARE_BYTES + outputTokens * BYTES_PER_TOKEN,
    lines: SPARE_EVENTS + outputTokens * EVENTS_PER_TOKEN,
    quietBytes: MAX_QUIET_BYTES,
    quietMs,
  }
}

/** Checks one stream against its bounds. Comments and short lines do not count as content. */
export class StreamGuard implements ChunkGuard {
  private readonly bounds: StreamBounds
  private readonly now: () => number
  private bytes = 0
  private lines = 0
  private quietBytes = 0
  private lastContent: number
  /** Bytes of the current, unfinished line. */
  private lineBytes = 0
  private isComment = false

  constructor(bounds: StreamBounds, now: () => number) {
    this.bounds = bounds
    this.now = now
    this.lastContent = now()
  }

  pass(chunk: Uint8Array): Uint8Array {
    const problem = this.problemWith(chunk)
    if (problem !== null) throw new StreamOutOfBounds(problem)
    return chunk
  }

  /** Why the stream must end with this chunk, or null. */
  problemWith(chunk: Uint8Array): string | null {
    this.bytes += chunk.length
    if (this.bytes > this.bounds.bytes) return `more than ${this.bounds.bytes} bytes`
    if (this.hasContent(chunk)) {
      this.quietBytes = 0
      this.lastContent = this.now()
      return this.lines > this.bounds.lines ? `more than ${this.bounds.lines} lines` : null
    }
    this.quietBytes += chunk.length
    if (this.quietBytes > this.bounds.quietBytes) return `${this.quietBytes} bytes without content`
    const quietMs = this.now() - this.lastContent
    return quietMs > this.bounds.quietMs ? `no content for ${Math.round(quietMs)} ms` : null
  }

  private hasContent(chunk: Uint8Array): boolean {
    let found = false
    for (let from = 0; from < chunk.length; ) {
      const feed = chunk.indexOf(LINE_FEED, from)
      const end = feed < 0 ? chunk.length : feed
      if (this.lineBytes === 0 && end > from) this.isComment = chunk[from] === COLON
      const before = this.lineBytes
      this.lineBytes += end - from
      if (!this.isComment && this.lineBytes >= CONTENT_BYTES) {
        found ||= end > from
        if (before < CONTENT_BYTES) this.lines++
      }
      if (feed < 0) break
      this.lineBytes = 0
      from = feed + 1
    }
    return found
  }
}

class StreamOutOfBounds extends Error {
  override readonly name = 'StreamOutOfBounds'
}
