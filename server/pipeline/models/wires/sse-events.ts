import { isJson, type Json } from '../../../core/json'
import { readableJson } from './json/readable-json'
import { WaitingBytes } from './waiting-bytes'

const LINE_FEED = 0x0a
const RETURN = 0x0d
const NONE: Uint8Array = new Uint8Array()

/** A longer event ends the stream: its sender is broken and must not fill the memory. */
const MAX_EVENT = 16 * 1024 * 1024
/** Bytes of the longest end of an event: `\n\r\n`. */
const MAX_END = 3

/** Whether an event is sent as received, dropped, or replaced by other bytes. */
export type Verdict = 'pass' | 'drop' | Uint8Array

/**
 * Splits a stream into whole server-sent events, wherever the network cut it, and filters them. Events that pass are not copied.
 */
export class SseEvents {
  private readonly filter: (event: Uint8Array) => Verdict
  private readonly filterMany: ((events: string) => string | null) | null
  private readonly tail = new WaitingBytes()

  /**
   * `filterMany` is a fast path for streams whose events are mostly alike: it gets all whole events of a chunk as latin-1 and
   * returns the text to send, or null if the events must be filtered one by one.
   */
  constructor(filter: (event: Uint8Array) => Verdict, filterMany: ((events: string) => string | null) | null = null) {
    this.filter = filter
    this.filterMany = filterMany
  }

  /** Returns what may be sent now. Throws a `RangeError` if an event does not end. */
  push(chunk: Uint8Array): Uint8Array {
    const data = this.tail.with(chunk)
    // The bytes before this were searched already, except for an event end that the network may have cut.
    const unseen = Math.max(0, this.tail.length - MAX_END + 1)
    return this.filteredTogether(data, unseen) ?? this.filteredOneByOne(data, unseen)
  }

  private filteredTogether(data: Uint8Array, unseen: number): Uint8Array | null {
    const end = this.filterMany ? endOfEvents(data, unseen) : -1
    if (!this.filterMany || end < 0) return null
    const whole = end === data.length ? data : data.subarray(0, end)
    const events = latin1(whole)
    const passed = this.filterMany(events)
    if (passed === null) return null
    this.keep(end === data.length ? NONE : data.subarray(end))
    return passed === events ? whole : Buffer.from(passed, 'latin1')
  }

  private filteredOneByOne(data: Uint8Array, unseen: number): Uint8Array {
    const out: Uint8Array[] = []
    let kept = 0
    let from = 0
    for (let end = endOfEvent(data, unseen); end > 0; end = endOfEvent(data, from)) {
      const event = data.subarray(from, end)
      const verdict = this.filter(event)
      if (verdict !== 'pass') {
        out.push(data.subarray(kept, from))
        if (verdict !== 'drop') out.push(verdict)
        kept = end
      }
      from = end
    }
    this.keep(data.subarray(from))
    const rest = data.subarray(kept, from)
    return out.length === 0 ? rest : Buffer.concat([...out, rest])
  }

  private keep(tail: Uint8Array): void {
    if (tail.length > MAX_EVENT) throw new RangeError('an event of the stream does not end')
    this.tail.keep(tail)
  }

  /** The bytes after the last whole event when the stream ends, filtered as if they were a whole event. */
  end(): Uint8Array {
    const last = this.tail.take()
    if (last.length === 0) return NONE
    const verdict = this.filter(last)
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

/** The index after the last empty line at or after `from`; -1 if there is none. */
function endOfEvents(data: Uint8Array, from: number): number {
  const unseen = data.subarray(from)
  for (let at = unseen.lastIndexOf(LINE_FEED); at > 0; at = unseen.lastIndexOf(LINE_FEED, at - 1))
    if (unseen[at - 1] === LINE_FEED || (unseen[at - 1] === RETURN && unseen[at - 2] === LINE_FEED))
      return from + at + 1
  return -1
}

/** The data of an event, its lines joined as the standard requires. */
export function dataOf(event: Uint8Array): string {
  const lines = new TextDecoder().decode(event).split(/\r?\n/)
  return lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.charAt(5) === ' ' ? 6 : 5))
    .join('\n')
}

/** The data of an event as a JSON object; empty if it is not one. */
export function eventJson(event: Uint8Array): Json {
  const json = readableJson(dataOf(event))
  return isJson(json) ? json : {}
}

/** The bytes as a string with one character per byte: fast to search, and of the same length. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.prototype.latin1Slice.call(bytes, 0, bytes.length)
}
