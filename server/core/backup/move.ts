/** The step of a move, for people who wait. */
export interface MoveProgress {
  readonly step: 'copying' | 'indexing' | 'comparing' | 'checking'
  /** Rows that are done, and all of them; 0 while it is not known. */
  readonly rows: number
  readonly total: number
}

/** The rows that moved, or would move. */
export interface MoveReport {
  /** The addresses of both places, without tokens. */
  readonly from: string
  readonly to: string
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** Bytes of the log of charges that are not in the tables yet; only of a rehearsal. */
  readonly waitingBytes: number
  /** In how many places the books disagree, as those of the original do; 0 is good. */
  readonly problems: number
  /** Variables with keys of upstreams that operators' models name. */
  readonly keyVariables: readonly string[]
  /** `rehearsed`: nothing was changed. `done before`: an earlier run had moved the data. */
  readonly outcome: 'rehearsed' | 'moved' | 'done before'
}

/** A move that cannot be made: a message for the operator. */
export class MoveProblem extends Error {}
