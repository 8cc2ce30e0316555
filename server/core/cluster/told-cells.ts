import { reasonOf } from '../result'
import { type CellName, DirectoryUnavailable } from './cells'

/** After a cell did not answer, nobody asks it again for so long. */
const PAUSE_MS = 1_000

/**
 * Whether the directory has all that the other cells have. It may be an older copy than their databases. So before a gateway takes a payment,
 * or `main` says that nobody has a key, each other cell has to say once that it has told the directory what it has.
 */
export class ToldCells {
  private readonly waiting: Set<CellName>
  private readonly ask: (cell: CellName) => Promise<unknown>
  private readonly monotonic: () => number
  private asking: Promise<void> | null = null
  private failed: { readonly at: number; readonly error: DirectoryUnavailable } | null = null

  /** `ask` resolves when that cell has told all, and rejects soon if it does not answer. `monotonic`: milliseconds of a clock that never steps. */
  constructor(others: readonly CellName[], ask: (cell: CellName) => Promise<unknown>, monotonic: () => number) {
    this.waiting = new Set(others)
    this.ask = ask
    this.monotonic = monotonic
  }

  /** Resolves when all have, at once from then on. Rejects with `DirectoryUnavailable` while one has not. */
  async all(): Promise<void> {
    if (this.waiting.size === 0) return
    if (this.failed && this.monotonic() - this.failed.at < PAUSE_MS) throw this.failed.error
    this.asking ??= this.askAll().finally(() => (this.asking = null))
    await this.asking
  }

  private async askAll(): Promise<void> {
    const asked = [...this.waiting].map(async (cell) => {
      await this.ask(cell)
      this.waiting.delete(cell)
    })
    const answers = await Promise.allSettled(asked)
    const failure = answers.find((answer) => answer.status === 'rejected')
    if (!failure) return
    const cells = [...this.waiting].join(' and ')
    const why = `${cells} did not say what the directory lacks: ${reasonOf(failure.reason)}`
    const error = new DirectoryUnavailable(why, failure.reason)
    this.failed = { at: this.monotonic(), error }
    throw error
  }
}
