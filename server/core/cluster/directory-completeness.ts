import { reasonOf } from '../result'
import { type CellName, DirectoryUnavailable } from './cells'

/** How long to wait before a cell that did not answer is asked again. */
const PAUSE_MS = 1_000

interface Parts {
  readonly others: readonly CellName[]
  /** Resolves when the records of that cell are in the directory. Rejects soon if the cell does not answer. */
  readonly ask: (cell: CellName) => Promise<unknown>
  /** Milliseconds of a clock that never steps. */
  readonly monotonic: () => number
  /** Can confirm for cells that do not answer (`DirectoryWitness`); null where there is none. */
  readonly witness: { readonly since: object | null; vouches(): Promise<boolean> } | null
}

/**
 * Whether the directory has the records of all other cells. It may be an older copy than their databases. So before a gateway takes a payment or
 * `main` calls a key unknown, every other cell must first confirm that its records are in the directory. If one does not answer, a node that has
 * watched the directory without a gap may confirm instead.
 */
export class DirectoryCompleteness {
  private readonly parts: Parts
  private waiting: Set<CellName>
  private since: object | null
  private asking: Promise<void> | null = null
  private failed: { readonly at: number; readonly error: DirectoryUnavailable } | null = null

  constructor(parts: Parts) {
    this.parts = parts
    this.waiting = new Set(parts.others)
    this.since = parts.witness?.since ?? null
  }

  /**
   * Resolves when all cells have confirmed; immediately from then on, until the control database loses something. Rejects with
   * `DirectoryUnavailable` while a confirmation is missing and no witness replaces it.
   */
  async confirm(): Promise<void> {
    const { witness, others, monotonic } = this.parts
    if (witness && witness.since !== this.since) {
      this.since = witness.since
      this.waiting = new Set(others)
    }
    while (this.waiting.size > 0) {
      if (this.failed && monotonic() - this.failed.at < PAUSE_MS) throw this.failed.error
      this.asking ??= this.askAll(this.waiting).finally(() => (this.asking = null))
      await this.asking
    }
  }

  private async askAll(waiting: Set<CellName>): Promise<void> {
    const { ask, witness, monotonic } = this.parts
    const asked = [...waiting].map(async (cell) => {
      await ask(cell)
      waiting.delete(cell)
    })
    const answers = await Promise.allSettled(asked)
    const failure = answers.find((answer) => answer.status === 'rejected')
    if (!failure) return
    if (await witness?.vouches()) return waiting.clear()
    const cells = [...waiting].join(' and ')
    const why = `${cells} did not confirm that the directory is complete: ${reasonOf(failure.reason)}`
    const error = new DirectoryUnavailable(why, failure.reason)
    this.failed = { at: monotonic(), error }
    throw error
  }
}
