import { isJson, parsedJson } from '../../../core/json'
import { endOfString } from './json/readable-json'

/** Longer events are read one by one. */
const MAX_FRAME = 4096
/** Without more fixed bytes than these an event may be an end of a stream, or be too short to count as content. */
const MIN_FIXED = 64
/** So many frames that no later event has, one after another, end the search for one. */
const MAX_USELESS = 8
const AFTER_NUMBER = /^\s*[,}\]]/
const AFTER_STRING = /^"\s*[,}\]]/

/** How a wire recognizes events that differ in their text only. */
export interface FrameRules {
  /** Finds the start of each value that differs between them: after the opening quote of a string, or before a number. */
  readonly varying: RegExp
  /** Those of them that are counted as text. */
  readonly texts: ReadonlySet<string>
  /** Finds what makes an event more than text. */
  readonly beyond: RegExp
  /** Removed from the events; empty if nothing is. */
  readonly hidden: string
}

/**
 * The events of a stream that are like one that was read in full: the same bytes except for the values that vary. Such events have the
 * same members, and only their text is new, so nothing else of them is looked at.
 */
export class LikeEvents {
  private readonly rules: FrameRules
  private frame: EventFrame | null = null
  private useless = 0

  constructor(rules: FrameRules) {
    this.rules = rules
  }

  /** Learns the frame of an event that was read in full. */
  learn(event: string): void {
    if (this.useless > MAX_USELESS) return
    const frame = frameOf(event, this.rules)
    if (frame) this.frame = ++this.useless > MAX_USELESS ? null : frame
  }

  /** The index after the events at `from` that are like the learned one; `from` if there are none. */
  endOfRun(text: string, from: number): number {
    const { frame } = this
    if (frame === null) return from
    frame.textBytes = 0
    let end = from
    for (let next = frame.endOf(text, end); next > 0; next = frame.endOf(text, end)) end = next
    if (end > from) this.useless = 0
    return end
  }

  /** Has the events that `endOfRun` found counted. Returns what is sent instead of them; null if they are sent as they came. */
  count(counter: { count?(run: Run, events: string): void }, events: string): string | null {
    const { hidden } = this.rules
    if (this.frame) counter.count?.(this.frame, events)
    return hidden === '' ? null : events.replaceAll(hidden, '')
  }
}

export interface Run {
  readonly textBytes: number
  /** The last number that varies, if one does. */
  readonly number: number | null
}

/** The bytes around the values that vary, and what is known of the events that were found last. */
class EventFrame implements Run {
  textBytes = 0
  number: number | null = null
  private readonly fixed: readonly string[]
  private readonly values: readonly Value[]
  private readonly endLength: number

  /** The value `values[i]` follows the bytes `fixed[i]`. `endLength`: bytes from the end of its data on. */
  constructor(fixed: readonly string[], values: readonly Value[], endLength: number) {
    this.fixed = fixed
    this.values = values
    this.endLength = endLength
  }

  /** The index after the event at `from`; -1 if it is not like this one. */
  endOf(text: string, from: number): number {
    const { fixed, values } = this
    let at = from
    let firstValue = 0
    let textBytes = 0
    let number: number | null = null
    for (let i = 0; i < fixed.length; i++) {
      const bytes = fixed[i] ?? ''
      if (!text.startsWith(bytes, at)) return -1
      at += bytes.length
      if (i === 0) firstValue = at
      const value = values[i]
      if (value === undefined) break
      const end = value === 'number' ? endOfNumber(text, at) : endOfString(text, at)
      if (value === 'text') textBytes += end - at
      else if (value === 'number') {
        if (end === at) return -1
        number = Number(text.slice(at, end))
      }
      at = end
    }
    // A line break in a value ends the event there.
    if (text.indexOf('\n', firstValue) !== at - this.endLength) return -1
    this.textBytes += textBytes
    this.number = number
    return at
  }
}

type Value = 'text' | 'other' | 'number'

function frameOf(event: string, { varying, texts, beyond, hidden }: FrameRules): EventFrame | null {
  const data = event.length <= MAX_FRAME ? onlyLine(event) : null
  if (data === null || beyond.test(hidden === '' ? event : event.replace(hidden, ''))) return null
  const fixed: string[] = []
  const values: Value[] = []
  let from = 0
  varying.lastIndex = 0
  for (let found = varying.exec(event); found; found = varying.exec(event)) {
    const start = varying.lastIndex
    const isText = event.charAt(start - 1) === '"'
    const valueEnd = isText ? endOfString(event, start) : endOfNumber(event, start)
    fixed.push(event.slice(from, start))
    values.push(!isText ? 'number' : texts.has(found[1] ?? '') ? 'text' : 'other')
    from = valueEnd
    varying.lastIndex = isText ? valueEnd + 1 : valueEnd
  }
  fixed.push(event.slice(from))
  return isFrame(fixed, values) && isJson(parsedJson(data)) ? new EventFrame(fixed, values, endLength(event)) : null
}

/** The data of an event that has one line of it, after its name if it has one. */
function onlyLine(event: string): string | null {
  const start = event.startsWith('event:') ? event.indexOf('\n') + 1 : 0
  const end = event.length - endLength(event)
  return event.startsWith('data:', start) && event.indexOf('\n', start) === end ? event.slice(start + 5, end) : null
}

/** The line break of the last line of an event, and the empty line after it. */
function endLength(event: string): number {
  return event.endsWith('\n\r\n') ? 3 : 2
}

/** Whether events with these fixed bytes have the same members whatever their values are. */
function isFrame(fixed: readonly string[], values: readonly Value[]): boolean {
  if (!values.includes('text')) return false
  if (fixed.reduce((sum, { length }) => sum + length, 0) < MIN_FIXED) return false
  return fixed.every((bytes, i) => {
    const before = values[i - 1]
    const follows = before === undefined || (before === 'number' ? AFTER_NUMBER : AFTER_STRING).test(bytes)
    return follows && !bytes.includes('\\')
  })
}

/** The index after at most nine digits. */
function endOfNumber(text: string, from: number): number {
  let at = from
  for (let code = text.charCodeAt(at); code >= 0x30 && code <= 0x39 && at < from + 9; code = text.charCodeAt(at)) at++
  return at
}
