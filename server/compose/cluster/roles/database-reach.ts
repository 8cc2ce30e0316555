/** How long the loop that renews all leases waits for one database. */
const PROMPT_MS = 50
/** How long an answer counts, and how long a database that did not answer is not asked again. */
const FRESH_MS = 1_000

interface ReachParts {
  /** Why the database does not answer now; null if it does. Has its own time limit. */
  readonly ask: () => Promise<string | null>
  readonly monotonic: () => number
  /** Called when `problem` changes. */
  readonly onChange: (problem: string | null) => void
}

/** Checks that this node reaches the database of a cell before it takes the cell: an owner that cannot reach it would block other nodes. */
export class DatabaseReach {
  private readonly parts: ReachParts
  private asking: Promise<void> | null = null
  private last: { readonly problem: string | null; readonly at: number } | null = null

  constructor(parts: ReachParts) {
    this.parts = parts
  }

  /** Why the database did not answer last time; null if it did or was not asked. */
  get problem(): string | null {
    return this.last?.problem ?? null
  }

  /** True only if the database has just answered. Does not wait long for an answer: call again. */
  async answers(): Promise<boolean> {
    const { last } = this
    if (last && this.parts.monotonic() - last.at < FRESH_MS) return last.problem === null
    this.asking ??= this.ask().finally(() => (this.asking = null))
    await Promise.race([this.asking, Bun.sleep(PROMPT_MS)])
    return this.asking === null && this.last?.problem === null
  }

  private async ask(): Promise<void> {
    const problem = await this.parts.ask()
    const before = this.problem
    this.last = { problem, at: this.parts.monotonic() }
    if ((problem === null) !== (before === null)) this.parts.onChange(problem)
  }
}
