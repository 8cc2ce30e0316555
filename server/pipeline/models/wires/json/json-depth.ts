import { BODY_BOUNDS } from '../../../../core/json-bounds'

const LINE_FEED = 0x0a
const RETURN = 0x0d
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The maximum depth of JSON in requests and responses (spec-answers 9). */
export const MAX_DEPTH = BODY_BOUNDS.depth

/**
 * Whether JSON in these bytes is deeper than `MAX_DEPTH`, checked without parsing it. `events`: the bytes are server-sent events,
 * and the depth of each is counted separately. A string ends at a line break at the latest, so a stray quote hides nothing.
 */
export function isTooDeep(bytes: Uint8Array, events: boolean): boolean {
  if (bytes.length <= MAX_DEPTH) return false
  let depth = 0
  let lineEnd = -1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      if (lineEnd < at) lineEnd = endOfLine(bytes, at)
      at = endOfString(bytes, at, lineEnd)
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > MAX_DEPTH) return true
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth > 0) depth--
    } else if (byte === LINE_FEED && events && isBlankLine(bytes, at + 1)) depth = 0
  }
  return false
}

function endOfLine(bytes: Uint8Array, from: number): number {
  const end = bytes.indexOf(LINE_FEED, from)
  return end < 0 ? bytes.length : end
}

/** The end of the string that begins at `from`: its closing quote, or the last byte of its line. */
function endOfString(bytes: Uint8Array, from: number, lineEnd: number): number {
  for (let at = bytes.indexOf(QUOTE, from + 1); at >= 0 && at < lineEnd; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return lineEnd - 1
}

function isBlankLine(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === LINE_FEED || (bytes[at] === RETURN && bytes[at + 1] === LINE_FEED)
}
