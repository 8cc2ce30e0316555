import type { Instruction, Target } from './instruction'
import type { MatchWork } from './match-work'
import type { Pattern } from './pattern'

/** The length of the character sequences by which patterns are indexed. */
const GRAM = 3
/** The cost in nanoseconds of extracting one gram from a text, and of an instruction without a pattern. */
const GRAM_NS = 60
const INSTRUCTION_NS = 30
/** The cost in nanoseconds of parsing an instruction and adding it to an index. */
const BUILD_NS = 5_000
const NO_GRAMS: ReadonlySet<string> = new Set()

/** The texts of a result by target, in lower case. */
export type Texts = Readonly<Record<Target, string>>

/** Whether a pattern can be indexed. Others must be tried one by one. */
export function isIndexable({ runs }: Pattern): boolean {
  return runs.some((run) => run.length >= GRAM)
}

/** The maximum work of parsing an instruction and adding it to an index, in nanoseconds. */
export function buildWork({ pattern }: Instruction): number {
  const grams = (pattern?.runs ?? []).reduce((sum, run) => sum + Math.max(0, run.length - GRAM + 1), 0)
  return BUILD_NS + grams * GRAM_NS
}

/**
 * Indexes instructions by three characters that their pattern requires, so that a text is only compared with patterns that it may
 * match. Of a pattern's grams, the least frequent one is used.
 */
export class InstructionIndex {
  private readonly byTarget = new Map<Target, Map<string, Instruction[]>>()
  private readonly always: Instruction[] = []

  add(instruction: Instruction): void {
    const { pattern, target } = instruction
    if (!pattern || !isIndexable(pattern)) {
      this.always.push(instruction)
      return
    }
    const lists = this.byTarget.get(target) ?? new Map<string, Instruction[]>()
    this.byTarget.set(target, lists)
    const gram = rarest(pattern, lists)
    const list = lists.get(gram)
    if (list) list.push(instruction)
    else lists.set(gram, [instruction])
  }

  /** The instructions that match. */
  *matching(page: SearchablePage): Generator<Instruction> {
    for (const instruction of this.always) if (page.matches(instruction)) yield instruction
    for (const [target, lists] of this.byTarget)
      for (const gram of page.gramsOf(target))
        for (const instruction of lists.get(gram) ?? []) if (page.matches(instruction)) yield instruction
  }
}

/** A result to match instructions against, which counts the work. Once there is too much work, nothing matches. */
export class SearchablePage {
  private readonly texts: Texts
  private readonly work: MatchWork
  private readonly grams = new Map<Target, ReadonlySet<string>>()

  constructor(texts: Texts, work: MatchWork) {
    this.texts = texts
    this.work = work
  }

  matches({ pattern, target }: Instruction): boolean {
    if (this.work.isTooMuch) return false
    const text = this.texts[target]
    this.work.add(pattern ? pattern.workOn(text.length) : INSTRUCTION_NS)
    return pattern === null || pattern.matches(text)
  }

  /** All grams of a text, extracted once. */
  gramsOf(target: Target): ReadonlySet<string> {
    const known = this.grams.get(target)
    if (known) return known
    if (this.work.isTooMuch) return NO_GRAMS
    const text = this.texts[target]
    this.work.add(text.length * GRAM_NS)
    const grams = gramsOf(text)
    this.grams.set(target, grams)
    return grams
  }
}

/** The gram of a pattern with the fewest instructions in the index. */
function rarest({ runs }: Pattern, lists: ReadonlyMap<string, readonly Instruction[]>): string {
  let best = ''
  let fewest = Number.POSITIVE_INFINITY
  for (const run of runs)
    for (let at = 0; at + GRAM <= run.length; at++) {
      const gram = run.slice(at, at + GRAM)
      const size = lists.get(gram)?.length ?? 0
      if (size === 0) return gram
      if (size < fewest) {
        best = gram
        fewest = size
      }
    }
  return best
}

function gramsOf(text: string): ReadonlySet<string> {
  const grams = new Set<string>()
  for (let at = 0; at + GRAM <= text.length; at++) grams.add(text.slice(at, at + GRAM))
  return grams
}
