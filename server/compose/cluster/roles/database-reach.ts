/** The loop that renews the leases of all cells waits no longer for one database. */
const PROMPT_MS = 50
/** How long an answer counts, and a database that did not answer is left alone. */
const FRESH_MS = 1_000

interface ReachParts {
  /** Why the database does not answer now; null if it does. Ends by itself. */
  readonly ask: () => Promise<string | null>
  readonly monotonic: () => number
  /** `problem` is another one. */
  readonly onChange: (problem: string | null) => void
}

/** Whether this node reaches the database of a cell, before it takes the cell: who takes one that is silent keeps others from it. */
export class DatabaseReach {
  private readonly parts: ReachParts
  private asking: Promise<void> | null = null
  private last: { readonly problem: string | null; readonly at: number } | null = null

  constructor(parts: ReachParts) {
    this.parts = parts
  }

  /** Why the database did not answer the last time; null if it did, or was not asked. */
  get problem(): string | null {
    return this.last?.problem ?? null
  }

  /** Whether the database answers: true only if it did just now. Never waits long: ask again. */
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
