/**
 * A pattern of a goggle: literal characters, `*` for any characters, `^` for a separator or the end, and `|` at the start or end as an
 * anchor. Ignores letter case. A match takes at most the text's length times the pattern's length.
 */
export interface Pattern {
  /** The literal parts that a text must contain to match, in lower case. */
  readonly runs: readonly string[]
  /** `text` must be in lower case. */
  matches(text: string): boolean
  /** The maximum work of matching a text of this length, in nanoseconds. */
  workOn(length: number): number
}

/** The costs in nanoseconds: of any match, per character of a native search, and per character compared one by one. */
const CALL_NS = 30
const PASSED_NS = 0.2
const LOOKED_AT_NS = 2.5

const MAX_WILDCARDS = 2

/** Parses a pattern. Returns a string, the broken rule, if it is invalid. */
export function parsePattern(text: string): Pattern | string {
  if (/^[*^|]*$/.test(text)) return 'the pattern needs a character beside * ^ |'
  if (text.split('*').length - 1 > MAX_WILDCARDS) return `the pattern has more than ${MAX_WILDCARDS} *`
  if (text.split('^').length - 1 > MAX_WILDCARDS) return `the pattern has more than ${MAX_WILDCARDS} ^`
  const atStart = text.startsWith('|')
  const atEnd = text.endsWith('|')
  const body = text.slice(atStart ? 1 : 0, atEnd ? -1 : undefined).toLowerCase()
  if (!/[*^]/.test(body)) return literal(body, atStart, atEnd)
  return new Wildcards(body.split('*').map(segmentOf), atStart, atEnd)
}

function literal(body: string, atStart: boolean, atEnd: boolean): Pattern {
  const runs = [body]
  const workOn = (length: number) => CALL_NS + (atStart || atEnd ? 0 : length * PASSED_NS)
  if (atStart && atEnd) return { runs, workOn, matches: (text) => text === body }
  if (atStart) return { runs, workOn, matches: (text) => text.startsWith(body) }
  if (atEnd) return { runs, workOn, matches: (text) => text.endsWith(body) }
  return { runs, workOn, matches: (text) => text.includes(body) }
}

/** The part of a pattern between two `*`. */
interface Segment {
  readonly text: string
  readonly hasSeparator: boolean
  /** Its longest literal part, used to find candidates, and the position of that part in the segment. */
  readonly run: string
  readonly runAt: number
}

function segmentOf(text: string): Segment {
  const run = text.split('^').reduce((longest, one) => (one.length > longest.length ? one : longest), '')
  return { text, hasSeparator: text.includes('^'), run, runAt: text.indexOf(run) }
}

/**
 * Matches each segment at the first possible position after the previous one. If any position works, that one does, so there is no
 * backtracking. If the pattern is anchored at the end, the last segment is matched there.
 */
class Wildcards implements Pattern {
  readonly runs: readonly string[]
  private readonly segments: readonly Segment[]
  private readonly atStart: boolean
  private readonly atEnd: boolean

  constructor(segments: readonly Segment[], atStart: boolean, atEnd: boolean) {
    this.runs = segments.flatMap(({ text }) => text.split('^')).filter(Boolean)
    this.segments = segments
    this.atStart = atStart
    this.atEnd = atEnd
  }

  workOn(length: number): number {
    const each = this.segments.reduce((sum, { hasSeparator }) => sum + (hasSeparator ? LOOKED_AT_NS : PASSED_NS), 0)
    return CALL_NS * (1 + this.segments.length) + length * each
  }

  matches(text: string): boolean {
    const last = this.segments.length - 1
    let from = 0
    for (const [i, segment] of this.segments.entries()) {
      const mustStart = i === 0 && this.atStart
      if (i === last && this.atEnd) return endsIn(text, segment, from, mustStart)
      const end = mustStart ? endAt(text, segment, 0) : firstEnd(text, segment, from)
      if (end < 0) return false
      from = end
    }
    return true
  }
}

/** The end of the segment if it matches at `at`, otherwise -1. */
function endAt(text: string, segment: Segment, at: number): number {
  if (!segment.hasSeparator) return text.startsWith(segment.text, at) ? at + segment.text.length : -1
  let position = at
  for (let i = 0; i < segment.text.length; i++) {
    if (segment.text[i] === '^') {
      if (position === text.length) continue
      if (!isSeparator(text.charCodeAt(position))) return -1
    } else if (segment.text.charCodeAt(i) !== text.charCodeAt(position)) return -1
    position++
  }
  return position
}

function firstEnd(text: string, segment: Segment, from: number): number {
  if (!segment.hasSeparator) {
    const found = text.indexOf(segment.text, from)
    return found < 0 ? -1 : found + segment.text.length
  }
  // Each character before the run takes one of the text, for the run is not at its end: only one position fits each find.
  const { run, runAt } = segment
  for (let found = text.indexOf(run, from + runAt); found >= 0; found = nextOf(text, run, found)) {
    // A run ends at a `^` or with its segment: the character on either side rules most finds out.
    if (runAt > 0 && !isSeparator(text.charCodeAt(found - 1))) continue
    const after = found + run.length
    const endsHere = runAt + run.length === segment.text.length
    if (!endsHere && after < text.length && !isSeparator(text.charCodeAt(after))) continue
    const end = endAt(text, segment, found - runAt)
    if (end >= 0) return end
  }
  return -1
}

/** The next position of a run, or of the empty one the next position and then the end. */
function nextOf(text: string, run: string, found: number): number {
  return found < text.length ? text.indexOf(run, found + 1) : -1
}

/** Whether the segment matches at the end of the text. `^` may match the end itself, so several positions are possible. */
function endsIn(text: string, segment: Segment, from: number, mustStart: boolean): boolean {
  if (mustStart) return endAt(text, segment, 0) === text.length
  for (let at = Math.max(from, text.length - segment.text.length); at <= text.length; at++)
    if (endAt(text, segment, at) === text.length) return true
  return false
}

/** Anything but a letter, a digit, `_`, `.`, `%` and `-`. */
function isSeparator(code: number): boolean {
  const isDigit = code >= 48 && code <= 57
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90)
  return !(isDigit || isLetter || code === 95 || code === 46 || code === 37 || code === 45)
}
