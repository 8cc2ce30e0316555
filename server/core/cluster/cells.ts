import type { StaffRole } from '../accounts/account'
import { DAY_MS } from '../clock'
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
   * commit leaves a row that leads to a cell which does not know the key. `keepUntil`: when it may be forgotten, in milliseconds; null: not by itself.
   */
  claimKey(hash: string, cell: CellName, keepUntil: number | null): Promise<void>
  /** The cell that may take the payment with this claim: the first to ask, until it is forgotten. Durable when it resolves. */
  claimPayment(claim: string, cell: CellName, keepUntil: number | null): Promise<CellName>
}

/**
 * How long the directory keeps a payment: much longer than one can be presented. A signed payment is valid for ten minutes, a page of the card
 * processor for a day. The cell that took it knows it forever.
 */
export const PAYMENT_KEPT_MS = 30 * DAY_MS

/** See `ToldCells`. */
interface OtherCellsTold {
  all(): Promise<void>
}

/** What one of several cells writes to the directory before it commits it, and asks it. */
export class CellClaims {
  private readonly directory: Pick<CellDirectory, 'ofKey' | 'claimKey' | 'claimPayment'>
  private readonly cell: CellName
  private readonly others: OtherCellsTold

  constructor(directory: CellClaims['directory'], cell: CellName, others: OtherCellsTold) {
    this.directory = directory
    this.cell = cell
    this.others = others
  }

  /** Before a key is committed, by the hash of its secret, or anything else that shall lead a request here. */
  async key(hash: string, keepUntil: number | null = null): Promise<void> {
    if (this.cell !== MAIN_CELL) await this.directory.claimKey(hash, this.cell, keepUntil)
  }

  /** Before `main` says that nobody has a key. Rejects while it may be another cell's: the request came here by an older answer. */
  async assertNobodys(hash: string): Promise<void> {
    if (this.cell !== MAIN_CELL) return
    await this.others.all()
    const cell = await this.directory.ofKey(hash)
    if (cell !== null) throw new DirectoryUnavailable(`the key is of the cell ${cell}`)
  }

  /** Before a payment is claimed. Whether it is this cell's; if not, it is used. */
  payment(claim: string, now: number): Promise<boolean> {
    return this.first(claim, now + PAYMENT_KEPT_MS)
  }

  /** Before money is booked under a reference that counts in all cells. Whether it is this cell's; if not, it is used. */
  reference(reference: string): Promise<boolean> {
    return this.first(reference, null)
  }

  private async first(claim: string, keepUntil: number | null): Promise<boolean> {
    await this.others.all()
    return (await this.directory.claimPayment(claim, this.cell, keepUntil)) === this.cell
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
