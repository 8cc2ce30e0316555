import { reasonOf } from '../result'
import { type CellName, DirectoryUnavailable } from './cells'

/** After a cell did not answer, nobody asks it again for so long. */
const PAUSE_MS = 1_000

interface Parts {
  readonly others: readonly CellName[]
  /** Resolves when that cell has told all, and rejects soon if it does not answer. */
  readonly ask: (cell: CellName) => Promise<unknown>
  /** Milliseconds of a clock that never steps. */
  readonly monotonic: () => number
  /** Who knows without asking; null if nobody does (`DirectoryWitness`). */
  readonly witness: { readonly since: object | null; vouches(): Promise<boolean> } | null
}

/**
 * Whether the directory has all that the other cells have. It may be an older copy than their databases. So before a gateway takes a payment,
 * or `main` says that nobody has a key, each other cell has to say once that it has told the directory what it has. For one that does not answer,
 * a witness may vouch.
 */
export class ToldCells {
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
   * Resolves when all have, at once from then on, until the control database loses something. Rejects with `DirectoryUnavailable` while one has not,
   * and nobody vouches for it.
   */
  async all(): Promise<void> {
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
    const why = `${cells} did not say what the directory lacks: ${reasonOf(failure.reason)}`
    const error = new DirectoryUnavailable(why, failure.reason)
    this.failed = { at: monotonic(), error }
    throw error
  }
}
