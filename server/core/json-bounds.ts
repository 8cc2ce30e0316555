/** Limits on a JSON document. */
export interface JsonBounds {
  readonly depth: number
  /** Objects, arrays and object members together. Scalars in arrays are not counted. */
  readonly parts: number
}

/** For bodies of model calls (spec D9). Wide ones are parsed off the serving thread. */
export const BODY_BOUNDS: JsonBounds = { depth: 100, parts: 100_000 }
/**
 * For all other bodies, which the serving thread parses. 100,000 members would block it for 60 ms, and no route needs even a
 * fiftieth of that.
 */
export const SERVED_BODY_BOUNDS: JsonBounds = { depth: 100, parts: 20_000 }
/** For payment credentials (spec D9). */
export const CREDENTIAL_BOUNDS: JsonBounds = { depth: 16, parts: 200 }

/** The error message for a body that exceeds its bounds. */
export function beyondBounds({ depth, parts }: JsonBounds): string {
  return `The body is nested deeper than ${depth} levels, or has more than ${parts} objects, arrays and members.`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN = 0x7b
const CLOSE = 0x7d
/** In strings longer than this, a native search for the closing quote is faster than looking at each byte. */
const SHORT_STRING = 24

/**
 * Checks JSON against its bounds while it arrives, in chunks cut anywhere. It checks nothing else; invalid JSON is the
 * parser's business.
 */
export class JsonScan {
  private readonly bounds: JsonBounds
  private depth = 0
  private parts = 0
  private commas = 0
  private inString = false
  private escaped = false

  constructor(bounds: JsonBounds) {
    this.bounds = bounds
  }

  /** Objects, arrays and members seen so far; or a tenth of the commas if that is more: elements of lists are no parts, but take a tenth of their time. */
  get partsSoFar(): number {
    return Math.max(this.parts, Math.floor(this.commas / 10))
  }

  /** Scans the next chunk. Returns false as soon as the document exceeds the bounds. */
  push(chunk: Uint8Array): boolean {
    const { bounds } = this
    const { length } = chunk
    let { depth, parts, commas } = this
    let at = this.inString ? this.endOfString(chunk, 0) : 0
    while (at < length) {
      const byte = chunk[at++]
      if (byte === QUOTE) at = this.endOfString(chunk, at)
      else if (byte === COMMA) commas++
      else if (byte === COLON) parts++
      else if (byte === OPEN || byte === OPEN_LIST) {
        parts++
        if (++depth > bounds.depth) break
      } else if (byte === CLOSE || byte === CLOSE_LIST) depth--
      if (parts > bounds.parts) break
    }
    this.depth = depth
    this.parts = parts
    this.commas = commas
    return depth <= bounds.depth && parts <= bounds.parts
  }

  /** The index after the closing quote of the string that contains `from`, or the chunk's length when the string goes on. */
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

/** The index of the next quote, or of the first in the run of backslashes before it. Without a quote: the chunk's length. */
function nextMark(chunk: Uint8Array, from: number): number {
  const quote = chunk.indexOf(QUOTE, from)
  let at = quote < 0 ? chunk.length : quote
  while (at > from && chunk[at - 1] === BACKSLASH) at--
  return at
}

/** Whether the JSON in these bytes is within the bounds. */
export function isWithin(bytes: Uint8Array, bounds: JsonBounds): boolean {
  return new JsonScan(bounds).push(bytes)
}

/** Whether a parsed value is within the bounds. Stops looking at the value once it exceeds them. */
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

/** Parses untrusted JSON. Returns undefined when it is invalid or exceeds the bounds of a body. */
export function boundedJson(text: string): unknown {
  if (!isWithin(new TextEncoder().encode(text), BODY_BOUNDS)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
