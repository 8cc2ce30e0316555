import { err, ok, type Result } from '../result'
import { type Instruction, parseInstruction } from './instruction'
import { isIndexable } from './instruction-index'

/**
 * Instructions that move and remove results.
 * https://api-dashboard.search.brave.com/documentation/resources/goggles
 */
export interface Goggle {
  readonly instructions: readonly Instruction[]
  /** Keys are in lower case. The first of several equal keys counts. */
  readonly metadata: ReadonlyMap<string, string>
}

export interface GoggleError {
  /** Starts at 1. */
  readonly line: number
  readonly rule: string
}

/** The maximum size of a goggle, inline or hosted. */
export const MAX_GOGGLE_BYTES = 2_000_000
const MAX_INSTRUCTIONS = 100_000
/** Patterns that cannot be indexed are tried one by one, which delays other callers. */
const MAX_SHORT_PATTERNS = 1000
const NEEDED_METADATA = ['name', 'description', 'public', 'author']

/** Parses a goggle line by line, so that the reader can pause. Yields an instruction, or null for other lines. Ends at an error. */
export type GoggleLines = Generator<Instruction | null, Result<Goggle['metadata'], GoggleError>>

/** The lines of an inline goggle. */
export function* goggleLines(text: string): GoggleLines {
  if (text.length * 3 > MAX_GOGGLE_BYTES && Buffer.byteLength(text) > MAX_GOGGLE_BYTES)
    return err({ line: 1, rule: `a goggle has at most ${MAX_GOGGLE_BYTES} bytes` })
  const metadata = new Map<string, string>()
  let count = 0
  let short = 0
  let at = text.startsWith('\uFEFF') ? 1 : 0
  for (let number = 1; at <= text.length; number++) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end < 0 ? undefined : end).trim()
    at = end < 0 ? text.length + 1 : end + 1
    if (line === '' || line.startsWith('!')) {
      if (count === 0 && line !== '') readMetadata(line, metadata)
      yield null
      continue
    }
    if (count === MAX_INSTRUCTIONS)
      return err({ line: number, rule: `a goggle has at most ${MAX_INSTRUCTIONS} instructions` })
    const instruction = parseInstruction(line)
    if (!instruction.ok) return err({ line: number, rule: instruction.error })
    const { pattern } = instruction.value
    if (pattern && !isIndexable(pattern) && ++short > MAX_SHORT_PATTERNS)
      return err({
        line: number,
        rule: `more than ${MAX_SHORT_PATTERNS} patterns without three plain characters in a row`,
      })
    count++
    yield instruction.value
  }
  return ok(metadata)
}

/** The lines of a published goggle, which requires metadata. */
export function* hostedGoggleLines(text: string): GoggleLines {
  const read = yield* goggleLines(text)
  if (!read.ok) return read
  const metadata = read.value
  const missing = NEEDED_METADATA.filter((key) => !metadata.has(key))
  if (missing.length > 0)
    return err({ line: 1, rule: `the metadata lacks ${missing.join(', ')} (a line "! name: ...")` })
  if (!/^(true|false)$/i.test(metadata.get('public') ?? ''))
    return err({ line: 1, rule: 'the metadata "public" must be true or false' })
  return read
}

/** Parses a whole inline goggle. */
export function parseGoggle(text: string): Result<Goggle, GoggleError> {
  const lines = goggleLines(text)
  const instructions: Instruction[] = []
  for (let next = lines.next(); ; next = lines.next()) {
    if (next.done) return next.value.ok ? ok({ instructions, metadata: next.value.value }) : next.value
    if (next.value) instructions.push(next.value)
  }
}

function readMetadata(comment: string, metadata: Map<string, string>): void {
  const found = /^!\s*([a-z_]+)\s*:\s*(.*)$/i.exec(comment)
  const key = found?.[1]?.toLowerCase()
  if (key && found?.[2] && !metadata.has(key)) metadata.set(key, found[2])
}
