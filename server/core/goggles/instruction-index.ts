import type { Instruction, Target } from './instruction'
import type { MatchWork } from './match-work'
import type { Pattern } from './pattern'

/** Characters in a row by which patterns are looked up. */
const GRAM = 3
/** Of taking one of them out of a text, and of an instruction that has no pattern. */
const GRAM_NS = 60
const INSTRUCTION_NS = 30
/** Of reading an instruction and finding its place among the others. */
const BUILD_NS = 5_000

/** The texts of one result by what an instruction may look at, in lower case. */
export type Texts = Readonly<Record<Target, string>>

/** Whether a pattern can be looked up; the others must be tried one by one. */
export function isIndexable({ runs }: Pattern): boolean {
  return runs.some((run) => run.length >= GRAM)
}

/** Nanoseconds that it may take to read an instruction and to add it to an index. */
export function buildWork({ pattern }: Instruction): number {
  const grams = (pattern?.runs ?? []).reduce((sum, run) => sum + Math.max(0, run.length - GRAM + 1), 0)
  return BUILD_NS + grams * GRAM_NS
}

/**
 * Instructions by three characters that their pattern cannot do without, so that a text is held against those it may match
 * instead of a hundred thousand. Of a pattern's threes the one is taken that fewest others have.
 */
export class InstructionIndex {
  readonly #byTarget = new Map<Target, Map<string, Instruction[]>>()
  readonly #always: Instruction[] = []

  add(instruction: Instruction): void {
    const { pattern, target } = instruction
    if (!pattern || !isIndexable(pattern)) {
      this.#always.push(instruction)
      return
    }
    const lists = this.#byTarget.get(target) ?? new Map<string, Instruction[]>()
    this.#byTarget.set(target, lists)
    const gram = rarest(pattern, lists)
    const list = lists.get(gram)
    if (list) list.push(instruction)
    else lists.set(gram, [instruction])
  }

  /** The instructions that match. */
  *matching(page: Page): Generator<Instruction> {
    for (const instruction of this.#always) if (page.matches(instruction)) yield instruction
    for (const [target, lists] of this.#byTarget)
      for (const gram of page.gramsOf(target))
        for (const instruction of lists.get(gram) ?? []) if (page.matches(instruction)) yield instruction
  }
}

/** One result that instructions are held against, with the work that takes. When it is too much, nothing matches any more. */
export class Page {
  readonly #texts: Texts
  readonly #work: MatchWork
  readonly #grams = new Map<Target, ReadonlySet<string>>()

  constructor(texts: Texts, work: MatchWork) {
    this.#texts = texts
    this.#work = work
  }

  matches({ pattern, target }: Instruction): boolean {
    if (this.#work.isTooMuch) return false
    const text = this.#texts[target]
    this.#work.add(pattern ? pattern.workOn(text.length) : INSTRUCTION_NS)
    return pattern === null || pattern.matches(text)
  }

  /** All threes of a text; taken once, however many sites have rules for the page. */
  gramsOf(target: Target): ReadonlySet<string> {
    const known = this.#grams.get(target)
    if (known) return known
    const text = this.#texts[target]
    this.#work.add(text.length * GRAM_NS)
    const grams = new Set(gramsOf(text))
    this.#grams.set(target, grams)
    return grams
  }
}

/** Of a pattern's threes the one that fewest instructions are listed under; the first of them. */
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

function gramsOf(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - GRAM + 1) }, (_, at) => text.slice(at, at + GRAM))
}
