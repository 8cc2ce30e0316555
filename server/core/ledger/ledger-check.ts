/** Two figures of the books that must be equal and are not, in micro-USD. */
export interface LedgerProblem {
  readonly what: string
  /** The account or call. */
  readonly subject: string
  readonly one: number
  readonly other: number
}

/** Checks the ledger against itself. An empty list is good. */
export type LedgerCheck = () => Promise<readonly LedgerProblem[]>
