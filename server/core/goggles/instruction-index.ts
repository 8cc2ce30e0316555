import type { Instruction, Target } from './instruction'
import type { Pattern } from './pattern'

/** Characters in a row by which patterns are looked up. */
const GRAM = 3

/** The texts of one result by what an instruction may look at, in lower case. */
export type Texts = Readonly<Record<Target, string>>

/** Whether a pattern can be looked up; the others must be tried one by one. */
export function isIndexable({ runs }: Pattern): boolean {
  return runs.some((run) => run.length >= GRAM)
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
    const grams = pattern ? pattern.runs.flatMap(gramsOf) : []
    if (grams.length === 0) {
      this.#always.push(instruction)
      return
    }
    const lists = this.#byTarget.get(target) ?? new Map<string, Instruction[]>()
    this.#byTarget.set(target, lists)
    let best = grams[0] ?? ''
    for (const gram of grams) {
      const size = lists.get(gram)?.length ?? 0
      if (size < (lists.get(best)?.length ?? 0)) best = gram
      if (size === 0) break
    }
    const list = lists.get(best)
    if (list) list.push(instruction)
    else lists.set(best, [instruction])
  }

  /** The instructions that match. */
  *matching(texts: Texts): Generator<Instruction> {
    for (const instruction of this.#always) if (matches(instruction, texts)) yield instruction
    for (const [target, lists] of this.#byTarget)
      for (const gram of new Set(gramsOf(texts[target])))
        for (const instruction of lists.get(gram) ?? []) if (matches(instruction, texts)) yield instruction
  }
}

function matches({ pattern, target }: Instruction, texts: Texts): boolean {
  return pattern === null || pattern.matches(texts[target])
}

function gramsOf(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - GRAM + 1) }, (_, at) => text.slice(at, at + GRAM))
}
