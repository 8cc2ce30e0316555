import { type Json, membersOf } from '../../../core/json'
import { type FrameRules, LikeEvents, type Run } from './event-frame'
import { readableJson } from './json/readable-json'
import { WaitingBytes } from './waiting-bytes'

const LINE_FEED = 0x0a
const RETURN = 0x0d
const NONE: Uint8Array = new Uint8Array()
const UTF8 = new TextDecoder()

/** A longer event ends the stream: its sender is broken and must not fill the memory. */
const MAX_EVENT = 16 * 1024 * 1024
/** Bytes of the longest end of an event: `\n\r\n`. */
const MAX_END = 3

export interface EventReader {
  /** Reads an event, whose bytes are also given as latin-1. Returns what is sent instead, as latin-1; null if it is sent as it came. */
  read(event: Uint8Array, text: string): string | null
  /** Counts several events that are like one that was read. */
  count?(run: Run, events: string): void
}

/**
 * Splits a stream into whole server-sent events, wherever the network cut it, and has them read. Events that pass are not copied.
 */
export class SseEvents {
  private readonly reader: EventReader
  private readonly like: LikeEvents | null
  private readonly tail = new WaitingBytes()

  /** `rules`: how events are recognized that need not be read, because they are like one that was. Null: each is read. */
  constructor(reader: EventReader, rules: FrameRules | null = null) {
    this.reader = reader
    this.like = rules && new LikeEvents(rules)
  }

  /** Returns what may be sent now. Throws a `RangeError` if an event does not end. */
  push(chunk: Uint8Array): Uint8Array {
    const data = this.tail.with(chunk)
    // The bytes before this were searched already, except for an event end that the network may have cut.
    const unseen = Math.max(0, this.tail.length - MAX_END + 1)
    return unseen > 0 && endOfEvent(data, unseen) < 0 ? this.keep(data) : this.filtered(data)
  }

  private filtered(data: Uint8Array): Uint8Array {
    const { reader, like } = this
    const text = latin1(data)
    /** What is sent of the text before `kept`. */
    let sent = ''
    let kept = 0
    let from = 0
    while (from < data.length) {
      const run = like?.endOfRun(text, from) ?? from
      const isRun = like !== null && run > from
      const end = isRun ? run : endOfEvent(data, from)
      if (end < 0) break
      const events = text.slice(from, end)
      const instead = isRun ? like.count(reader, events) : reader.read(data.subarray(from, end), events)
      if (!isRun && instead !== '') like?.learn(events)
      if (instead !== null) {
        sent = joined(joined(sent, text.slice(kept, from)), instead)
        kept = end
      }
      from = end
    }
    this.keep(from === data.length ? NONE : data.subarray(from))
    if (kept > 0) return Buffer.from(joined(sent, text.slice(kept, from)), 'latin1')
    return from === data.length ? data : data.subarray(0, from)
  }

  private keep(tail: Uint8Array): Uint8Array {
    if (tail.length > MAX_EVENT) throw new RangeError('an event of the stream does not end')
    this.tail.keep(tail)
    return NONE
  }

  /** The bytes after the last whole event when the stream ends, read as if they were a whole event. */
  end(): Uint8Array {
    const last = this.tail.take()
    if (last.length === 0) return NONE
    const instead = this.reader.read(last, latin1(last))
    return instead === null ? last : Buffer.from(instead, 'latin1')
  }
}

/** Two texts as one, without a new string if one of them is empty. */
function joined(one: string, other: string): string {
  return one === '' ? other : other === '' ? one : one + other
}

/** The index after the first empty line at or after `from`; -1 if there is none yet. */
function endOfEvent(data: Uint8Array, from: number): number {
  for (let at = data.indexOf(LINE_FEED, from); at >= 0; at = data.indexOf(LINE_FEED, at + 1)) {
    if (data[at + 1] === LINE_FEED) return at + 2
    if (data[at + 1] === RETURN && data[at + 2] === LINE_FEED) return at + 3
  }
  return -1
}

/** The data of an event, its lines joined as the standard requires. */
function dataOf(event: string): string {
  let data: string | null = null
  for (let from = 0; from < event.length; ) {
    const feed = event.indexOf('\n', from)
    const end = feed < 0 ? event.length : feed
    if (event.startsWith('data:', from)) {
      const start = from + (event.charAt(from + 5) === ' ' ? 6 : 5)
      const line = event.slice(start, feed > 0 && event.charAt(feed - 1) === '\r' ? feed - 1 : end)
      data = data === null ? line : `${data}\n${line}`
    }
    from = end + 1
  }
  return data ?? ''
}

/** The data of an event as a JSON object; empty if it is not one. */
export function eventJson(event: Uint8Array | string): Json {
  return membersOf(readableJson(dataOf(typeof event === 'string' ? event : UTF8.decode(event))))
}

/** The bytes as a string with one character per byte: fast to search, and of the same length. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.prototype.latin1Slice.call(bytes, 0, bytes.length)
}
