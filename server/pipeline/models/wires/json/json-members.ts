/** The position of a property's value: `bytes.slice(start, end)`. */
export interface MemberPosition {
  readonly start: number
  readonly end: number
}

/** The position of a whole property, name included: `bytes.slice(nameStart, end)`. */
export interface PropertyPosition extends MemberPosition {
  readonly nameStart: number
}

const UTF8 = new TextDecoder()

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const COMMA = 0x2c
const COLON = 0x3a
/** Strings up to this length are scanned byte by byte; in longer ones `indexOf` finds the closing quote. */
const SHORT_STRING = 24

/**
 * The properties of the object that begins at `from`, in bytes that are known to be valid JSON. Null if a name is duplicated:
 * parsers that take the first and parsers that take the last would disagree about the request.
 */
export function objectMembers(bytes: Uint8Array, from = 0): ReadonlyMap<string, PropertyPosition> | null {
  const found = new Map<string, PropertyPosition>()
  let at = bytes.indexOf(OPEN, from) + 1
  for (;;) {
    at = skipTo(bytes, at, QUOTE, CLOSE)
    if (bytes[at] !== QUOTE) return found
    const nameEnd = endOfString(bytes, at)
    const name = textOf(bytes, at, nameEnd)
    const start = skipSpace(bytes, bytes.indexOf(COLON, nameEnd) + 1)
    const end = endOfValue(bytes, start)
    if (found.has(name)) return null
    found.set(name, { nameStart: at, start, end })
    at = end
  }
}

/** The text of the string that begins at `start`. Names are nearly always plain: those are read without a parser. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] ?? 0
    if (byte === BACKSLASH || byte >= 0x80) return JSON.parse(UTF8.decode(bytes.subarray(start, end)))
  }
  return Buffer.prototype.latin1Slice.call(bytes, start + 1, end - 1)
}

/** The elements of the list that begins at `from`, in bytes that are known to be valid JSON. */
export function listElements(bytes: Uint8Array, from: number): readonly MemberPosition[] {
  const found: MemberPosition[] = []
  let at = skipSpace(bytes, bytes.indexOf(OPEN_LIST, from) + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_LIST) {
    const end = endOfValue(bytes, at)
    found.push({ start: at, end })
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return found
}

/** A replacement for part of the bytes. */
export interface Edit extends MemberPosition {
  readonly text: string
}

/** Replaces parts of the bytes. `edits` must not overlap. All other bytes are unchanged. */
export function edited(bytes: Uint8Array<ArrayBuffer>, edits: readonly Edit[]): Uint8Array<ArrayBuffer> {
  if (edits.length === 0) return bytes
  const sorted = edits.length === 1 ? edits : [...edits].sort((a, b) => a.start - b.start)
  let length = bytes.length
  for (const { start, end, text } of sorted) length += start - end + Buffer.byteLength(text)
  const whole = new Uint8Array(length)
  let from = 0
  let to = 0
  for (const { start, end, text } of sorted) {
    whole.set(bytes.subarray(from, start), to)
    to += start - from
    to += ENCODER.encodeInto(text, whole.subarray(to)).written
    from = end
  }
  whole.set(bytes.subarray(from), to)
  return whole
}

const ENCODER = new TextEncoder()

/** Inserts a property before the others of the object that begins at `from`. */
export function inserted(bytes: Uint8Array, from: number, name: string, value: unknown): Edit {
  const at = bytes.indexOf(OPEN, from) + 1
  const isEmpty = bytes[skipSpace(bytes, at)] === CLOSE
  return { start: at, end: at, text: `${JSON.stringify(name)}:${JSON.stringify(value)}${isEmpty ? '' : ','}` }
}

/** Sets a property of the outermost object: replaces its value, or inserts it. */
export function assigned(
  bytes: Uint8Array,
  members: ReadonlyMap<string, PropertyPosition>,
  name: string,
  value: unknown,
): Edit {
  const member = members.get(name)
  return member ? { ...member, text: JSON.stringify(value) } : inserted(bytes, 0, name, value)
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
  return at
}

function skipTo(bytes: Uint8Array, from: number, one: number, other: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== one && bytes[at] !== other) at++
  return at
}

/** The index after the closing quote of the string that begins at `from`. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from + 1
  for (;;) {
    at = nextQuote(bytes, at)
    if (at < 0) return bytes.length
    let slashes = 0
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at + 1
    at++
  }
}

/** The index of the next quote, negative if there is none. `indexOf` is cheap per byte but expensive per call. */
function nextQuote(bytes: Uint8Array, from: number): number {
  const soon = Math.min(bytes.length, from + SHORT_STRING)
  let at = from
  while (at < soon && bytes[at] !== QUOTE) at++
  return at < soon ? at : bytes.indexOf(QUOTE, at)
}

/** The index after the value that begins at `from`; that after all bytes if it does not end in them. */
export function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0
  let at = from
  while (at < bytes.length) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      if (depth === 0) return at
      continue
    }
    if (byte === OPEN || byte === OPEN_LIST) depth++
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (byte === COMMA && depth === 0) return at
    at++
  }
  return at
}
