/** What JSON may be made of: its depth, and how many objects, arrays and members. Scalars in arrays are not counted. */
export interface JsonBounds {
  readonly depth: number
  readonly parts: number
}

/** Of the body of a model call (spec-answers 9): what is wide is parsed off the serving thread. */
export const BODY_BOUNDS: JsonBounds = { depth: 100, parts: 100_000 }
/** Of every other body, which the serving thread parses: 100,000 members take it 60 ms, and no route knows a fiftieth of these. */
export const SERVED_BODY_BOUNDS: JsonBounds = { depth: 100, parts: 20_000 }
/** Of a payment credential (spec-answers 9). */
export const CREDENTIAL_BOUNDS: JsonBounds = { depth: 16, parts: 200 }

/** What is said of a body that goes beyond its bounds. */
export function beyondBounds({ depth, parts }: JsonBounds): string {
  return `The body is nested deeper than ${depth} levels, or has more than ${parts} objects, arrays and members.`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN = 0x7b
const CLOSE = 0x7d
/** A string that is longer than this is left by a search for its quote, which costs nearly nothing for each byte. */
const SHORT_STRING = 24

/**
 * Follows JSON as it comes in, byte by byte and in any cut, and tells when it has more depth or parts than it may have. It judges
 * nothing else: a parser does, of what passed here.
 */
export class JsonScan {
  private readonly bounds: JsonBounds
  private depth = 0
  private parts = 0
  private inString = false
  private escaped = false

  constructor(bounds: JsonBounds) {
    this.bounds = bounds
  }

  /** How many objects, arrays and members there were so far. */
  get partsSoFar(): number {
    return this.parts
  }

  /** Reads on. False from the chunk on that goes beyond the bounds. */
  push(chunk: Uint8Array): boolean {
    const { bounds } = this
    const { length } = chunk
    let { depth, parts } = this
    let at = this.inString ? this.endOfString(chunk, 0) : 0
    while (at < length) {
      const byte = chunk[at++]
      if (byte === QUOTE) at = this.endOfString(chunk, at)
      else if (byte === COLON) parts++
      else if (byte === OPEN || byte === OPEN_LIST) {
        parts++
        if (++depth > bounds.depth) break
      } else if (byte === CLOSE || byte === CLOSE_LIST) depth--
      if (parts > bounds.parts) break
    }
    this.depth = depth
    this.parts = parts
    return depth <= bounds.depth && parts <= bounds.parts
  }

  /** One behind the quote that ends the string which `from` stands in; the end of the chunk when that comes later. */
  private endOfString(chunk: Uint8Array, from: number): number {
    const { length } = chunk
    let at = from
    this.inString = true
    if (this.escaped && at < length) {
      this.escaped = false
      at++
    }
    for (;;) {
      const soon = Math.min(length, at + SHORT_STRING)
      while (at < soon && chunk[at] !== QUOTE && chunk[at] !== BACKSLASH) at++
      if (at < soon) {
        if (chunk[at++] === QUOTE) {
          this.inString = false
          return at
        }
        if (at === length) this.escaped = true
        at++
      } else if (at < length) at = nextMark(chunk, at)
      if (at >= length) return length
    }
  }
}

/** The next quote, or the first backslash of those that stand right before it; the end of the chunk without a quote. */
function nextMark(chunk: Uint8Array, from: number): number {
  const quote = chunk.indexOf(QUOTE, from)
  let at = quote < 0 ? chunk.length : quote
  while (at > from && chunk[at - 1] === BACKSLASH) at--
  return at
}

/** Whether the JSON in these bytes keeps to the bounds. */
export function isWithin(bytes: Uint8Array, bounds: JsonBounds): boolean {
  return new JsonScan(bounds).push(bytes)
}

/** Whether a value that was parsed keeps to the bounds: no more of it is looked at than they allow. */
export function isValueWithin(value: unknown, bounds: JsonBounds): boolean {
  let left = bounds.parts
  const fits = (part: unknown, depth: number): boolean => {
    if (typeof part !== 'object' || part === null) return true
    if (--left < 0 || depth >= bounds.depth) return false
    if (Array.isArray(part)) return part.every((element) => fits(element, depth + 1))
    for (const name in part) if (--left < 0 || !fits(Reflect.get(part, name), depth + 1)) return false
    return true
  }
  return fits(value, 0)
}

/** What JSON text of a stranger's says; undefined where it is none, or beyond the bounds of a body. */
export function boundedJson(text: string): unknown {
  if (!isWithin(new TextEncoder().encode(text), BODY_BOUNDS)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
