import { isJson, type Json } from '../../../core/json'
import { isTooDeep } from './json-depth'
import { WaitingBytes } from './waiting-bytes'

const LINE_FEED = 0x0a
const RETURN = 0x0d
const NONE: Uint8Array = new Uint8Array()

/** Longer events are none: what sends them is broken, and must not fill the memory. */
const MAX_EVENT = 16 * 1024 * 1024
/** Bytes of an end of an event: `\n\r\n`. */
const MAX_END = 3

/** An event that goes on as it came, in other bytes, or not at all. */
export type Verdict = 'pass' | 'drop' | Uint8Array

/**
 * Cuts a stream of server-sent events into whole ones, wherever the network cut it, and asks of each what becomes of it.
 * What passes is not copied.
 */
export class SseEvents {
  private readonly judge: (event: Uint8Array) => Verdict
  private readonly judgeMany: ((events: string) => string | null) | null
  private readonly tail = new WaitingBytes()

  /**
   * `judgeMany` saves most of the work where most events are alike: it gets all whole events that came at once, as latin-1, and
   * gives what goes on of them, or null when they must be judged one by one.
   */
  constructor(judge: (event: Uint8Array) => Verdict, judgeMany: ((events: string) => string | null) | null = null) {
    this.judge = judge
    this.judgeMany = judgeMany
  }

  /** What may be sent on now. Throws a `RangeError` when an event does not end, or nests too deep to be parsed. */
  push(chunk: Uint8Array): Uint8Array {
    const data = this.tail.with(chunk)
    // No event ends in what was looked at already, but for an end that the network cut.
    const unseen = Math.max(0, this.tail.length - MAX_END + 1)
    return this.judgedTogether(data, unseen) ?? this.judgedApart(data, unseen)
  }

  private judgedTogether(data: Uint8Array, unseen: number): Uint8Array | null {
    const end = this.judgeMany ? endOfEvents(data, unseen) : -1
    if (!this.judgeMany || end < 0) return null
    const whole = end === data.length ? data : data.subarray(0, end)
    refuseDeep(whole)
    const events = latin1(whole)
    const passed = this.judgeMany(events)
    if (passed === null) return null
    this.keep(end === data.length ? NONE : data.subarray(end))
    return passed === events ? whole : Buffer.from(passed, 'latin1')
  }

  private judgedApart(data: Uint8Array, unseen: number): Uint8Array {
    const out: Uint8Array[] = []
    let kept = 0
    let from = 0
    for (let end = endOfEvent(data, unseen); end > 0; end = endOfEvent(data, from)) {
      const event = data.subarray(from, end)
      refuseDeep(event)
      const verdict = this.judge(event)
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

  /** What stands behind the last whole event when the stream ends: it is judged as if it were whole. */
  end(): Uint8Array {
    const last = this.tail.take()
    // What is too deep may be what ended the stream.
    if (last.length === 0 || isTooDeep(last, true)) return NONE
    const verdict = this.judge(last)
    return verdict === 'pass' ? last : verdict === 'drop' ? NONE : verdict
  }
}

function refuseDeep(events: Uint8Array): void {
  if (isTooDeep(events, true)) throw new RangeError('an event of the stream nests too deep')
}

/** One behind the first empty line from `from` on; -1 when it is not there yet. */
function endOfEvent(data: Uint8Array, from: number): number {
  for (let at = data.indexOf(LINE_FEED, from); at >= 0; at = data.indexOf(LINE_FEED, at + 1)) {
    if (data[at + 1] === LINE_FEED) return at + 2
    if (data[at + 1] === RETURN && data[at + 2] === LINE_FEED) return at + 3
  }
  return -1
}

/** One behind the last empty line from `from` on; -1 when there is none. */
function endOfEvents(data: Uint8Array, from: number): number {
  const unseen = data.subarray(from)
  for (let at = unseen.lastIndexOf(LINE_FEED); at > 0; at = unseen.lastIndexOf(LINE_FEED, at - 1))
    if (unseen[at - 1] === LINE_FEED || (unseen[at - 1] === RETURN && unseen[at - 2] === LINE_FEED))
      return from + at + 1
  return -1
}

/** The data of an event, its lines joined as the standard says. */
export function dataOf(event: Uint8Array): string {
  const lines = new TextDecoder().decode(event).split(/\r?\n/)
  return lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.charAt(5) === ' ' ? 6 : 5))
    .join('\n')
}

/** The data of an event as a JSON object; empty where it is none. */
export function jsonOf(event: Uint8Array): Json {
  try {
    const json: unknown = JSON.parse(dataOf(event))
    return isJson(json) ? json : {}
  } catch {
    return {}
  }
}

/** Whether an event tells of a failure; some servers send `"error": null` in every one. */
export function tellsOfFailure(json: Json): boolean {
  return json['error'] !== undefined && json['error'] !== null
}

/** Bytes as a string of as many characters: quick to search, and its length is the bytes'. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.prototype.latin1Slice.call(bytes, 0, bytes.length)
}
