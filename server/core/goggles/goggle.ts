import { no, ok, type Result } from '../result'
import { type Instruction, parseInstruction } from './instruction'
import { isIndexable } from './instruction-index'

/** A set of instructions that moves, keeps and removes results (facts/upstreams.md 3). */
export interface Goggle {
  readonly instructions: readonly Instruction[]
  /** Keys in lower case; the first of each. */
  readonly metadata: ReadonlyMap<string, string>
}

export interface GoggleError {
  /** From 1. */
  readonly line: number
  readonly rule: string
}

/** Most bytes of one, inline or hosted. */
export const MAX_GOGGLE_BYTES = 2_000_000
const MAX_INSTRUCTIONS = 100_000
/** Patterns that can only be tried one by one cost the time of every other caller. */
const MAX_SHORT_PATTERNS = 1000
const NEEDED_METADATA = ['name', 'description', 'public', 'author']

/** Reads a goggle that stands in a request. One wrong line makes the whole of it wrong. */
export function parseGoggle(text: string): Result<Goggle, GoggleError> {
  if (text.length * 3 > MAX_GOGGLE_BYTES && Buffer.byteLength(text) > MAX_GOGGLE_BYTES)
    return no({ line: 1, rule: `a goggle has at most ${MAX_GOGGLE_BYTES} bytes` })
  const instructions: Instruction[] = []
  const metadata = new Map<string, string>()
  let number = 0
  let short = 0
  for (const raw of text.replace(/^\uFEFF/, '').split('\n')) {
    number++
    const line = raw.trim()
    if (line === '') continue
    if (line.startsWith('!')) {
      if (instructions.length === 0) readMetadata(line, metadata)
      continue
    }
    if (instructions.length === MAX_INSTRUCTIONS)
      return no({ line: number, rule: `a goggle has at most ${MAX_INSTRUCTIONS} instructions` })
    const instruction = parseInstruction(line)
    if (!instruction.ok) return no({ line: number, rule: instruction.error })
    const { pattern } = instruction.value
    if (pattern && !isIndexable(pattern) && ++short > MAX_SHORT_PATTERNS)
      return no({
        line: number,
        rule: `more than ${MAX_SHORT_PATTERNS} patterns without three plain characters in a row`,
      })
    instructions.push(instruction.value)
  }
  return ok({ instructions, metadata })
}

/** Reads a goggle that somebody published: it must say what it is. */
export function parseHostedGoggle(text: string): Result<Goggle, GoggleError> {
  const parsed = parseGoggle(text)
  if (!parsed.ok) return parsed
  const { metadata } = parsed.value
  const missing = NEEDED_METADATA.filter((key) => !metadata.has(key))
  if (missing.length > 0)
    return no({ line: 1, rule: `the metadata lacks ${missing.join(', ')} (a line "! name: ...")` })
  if (!/^(true|false)$/i.test(metadata.get('public') ?? ''))
    return no({ line: 1, rule: 'the metadata "public" must be true or false' })
  return parsed
}

function readMetadata(comment: string, metadata: Map<string, string>): void {
  const found = /^!\s*([a-z_]+)\s*:\s*(.*)$/i.exec(comment)
  const key = found?.[1]?.toLowerCase()
  if (key && found?.[2] && !metadata.has(key)) metadata.set(key, found[2])
}
