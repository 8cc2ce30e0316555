import type { StaffRole } from '../accounts/account'
import type { AccountId } from '../ids'

/** A cell: one database of accounts, and one gateway that owns it (ADR 45). `main` is the one in DATABASE_URL. */
export type CellName = string

export const MAIN_CELL: CellName = 'main'

/**
 * Where keys, accounts and payments live. Every method is one statement on the control database; it rejects if that does not answer, and
 * nobody may take that for an answer: a caller whose cell is not known gets 503, never 401.
 */
export interface CellDirectory {
  /** Null if no cell claimed it: then it is a key of `main`, whose keys are not in the directory, or of nobody. */
  ofKey(hash: string): Promise<CellName | null>
  /** Null for a user without an account. */
  ofUser(userId: string): Promise<CellName | null>
  /** Null if there is no such account. */
  ofAccount(account: AccountId): Promise<CellName | null>
  /**
   * Says that a key is of a cell other than `main`, before that cell commits it. Durable when it resolves. Idempotent. A crash before the
   * commit leaves a row that leads to a cell which does not know the key.
   */
  claimKey(hash: string, cell: CellName): Promise<void>
  /**
   * The cell that may take the payment with this claim: the first to ask, forever. Durable when it resolves. Rejects for a cell other than `main`
   * before the claims that `main` made alone are here.
   */
  claimPayment(claim: string, cell: CellName): Promise<CellName>
}

/** The payments that `main` took while it was the only cell, which asked nobody. */
export interface EarlierPayments {
  /** Whether all of them are in the directory. */
  areKnown(): Promise<boolean>
  /** Adds some. Idempotent. `areLast`: with these, all are known. */
  add(claims: readonly string[], areLast: boolean): Promise<void>
}

/** What one of several cells writes to the directory before it commits it. */
export class CellClaims {
  private readonly directory: Pick<CellDirectory, 'claimKey' | 'claimPayment'>
  private readonly cell: CellName

  constructor(directory: Pick<CellDirectory, 'claimKey' | 'claimPayment'>, cell: CellName) {
    this.directory = directory
    this.cell = cell
  }

  /** Before a key is committed, by the hash of its secret, or anything else that shall lead a request here. */
  async key(hash: string): Promise<void> {
    if (this.cell !== MAIN_CELL) await this.directory.claimKey(hash, this.cell)
  }

  /** Before a payment is claimed. Whether it is this cell's; if not, it is used. */
  async payment(claim: string): Promise<boolean> {
    return (await this.directory.claimPayment(claim, this.cell)) === this.cell
  }
}

/** Nobody can say now whose request it is: 503, because 401 would be a lie. */
export class DirectoryUnavailable extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}

/** Which cell answers a request; `main` for whoever has no account. */
export interface CellRouter {
  /** With one cell: `main`, at once and without a promise. Rejects with `DirectoryUnavailable` while nobody can say. */
  cellOf(request: Request): CellName | Promise<CellName>
}

/**
 * An operator or a member of the support, whom `main` found by the session: it is valid, the account not suspended, and the role is the
 * directory's. The route in the other cell decides by it what the session's own gateway would decide.
 */
export interface StaffClaim {
  readonly userId: string
  readonly accountId: AccountId
  readonly email: string
  readonly name: string
  readonly role: StaffRole
  /** The caller's address, as `formatAddress` writes it. */
  readonly address: string
  /** When the session began, in milliseconds, and whether with a second factor. */
  readonly signedInAt: number
  readonly secondFactor: boolean
}

/** Asks the gateway of a cell, in this process or by a hop. */
export interface CellCalls {
  /** The answer of the cell's owner, which takes `staff` in place of a session. A 503 if it cannot be reached. */
  ask(cell: CellName, request: Request, staff?: StaffClaim): Promise<Response>
  /** The answer of a cell's owner to a command of the control socket, whose body is JSON. A 503 if it cannot be reached, or `signal` aborts first. */
  command(
    cell: CellName,
    command: string,
    body: string | Uint8Array<ArrayBuffer>,
    signal?: AbortSignal,
  ): Promise<Response>
  /** All cells, `main` first. */
  cells(): readonly CellName[]
}
