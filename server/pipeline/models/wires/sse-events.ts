import { isJson, type Json } from '../../../core/json'
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

/** Whether an event is sent as received, dropped, or replaced by other bytes. */
export type Verdict = 'pass' | 'drop' | Uint8Array

/** Reads the events of a stream. */
export interface EventReader {
  /** Reads an event, whose bytes are also given as latin-1. */
  read(event: Uint8Array, text: string): Verdict
  /** Counts events that are like one that was read. */
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
    return unseen > 0 && endOfEvent(data, unseen) < 0 ? this.sent(data, [], 0, 0) : this.filtered(data)
  }

  private filtered(data: Uint8Array): Uint8Array {
    const { like } = this
    const text = latin1(data)
    const out: Uint8Array[] = []
    let kept = 0
    let from = 0
    while (from < data.length) {
      const run = like?.endOfRun(text, from) ?? from
      const end = run > from ? run : endOfEvent(data, from)
      if (end < 0) break
      const events = text.slice(from, end)
      const verdict = run > from ? this.ofRun(events) : this.reader.read(data.subarray(from, end), events)
      if (run === from && verdict !== 'drop') like?.learn(events)
      if (verdict !== 'pass') {
        if (from > kept) out.push(data.subarray(kept, from))
        if (verdict !== 'drop') out.push(verdict)
        kept = end
      }
      from = end
    }
    return this.sent(data, out, kept, from)
  }

  /** Keeps the bytes after the last whole event. Returns those before, of which `out` replaces the first. */
  private sent(data: Uint8Array, out: Uint8Array[], kept: number, end: number): Uint8Array {
    const isAll = end === data.length
    this.keep(isAll ? NONE : data.subarray(end))
    if (kept === 0) return isAll ? data : data.subarray(0, end)
    if (end > kept) out.push(data.subarray(kept, end))
    return out.length === 1 && out[0] ? out[0] : Buffer.concat(out)
  }

  private ofRun(events: string): Verdict {
    const { reader, like } = this
    if (like?.run) reader.count?.(like.run, events)
    const sent = like?.shown(events) ?? events
    return sent.length === events.length ? 'pass' : Buffer.from(sent, 'latin1')
  }

  private keep(tail: Uint8Array): void {
    if (tail.length > MAX_EVENT) throw new RangeError('an event of the stream does not end')
    this.tail.keep(tail)
  }

  /** The bytes after the last whole event when the stream ends, read as if they were a whole event. */
  end(): Uint8Array {
    const last = this.tail.take()
    if (last.length === 0) return NONE
    const verdict = this.reader.read(last, latin1(last))
    return verdict === 'pass' ? last : verdict === 'drop' ? NONE : verdict
  }
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
  const json = readableJson(dataOf(typeof event === 'string' ? event : UTF8.decode(event)))
  return isJson(json) ? json : {}
}

/** The bytes as a string with one character per byte: fast to search, and of the same length. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.prototype.latin1Slice.call(bytes, 0, bytes.length)
}
