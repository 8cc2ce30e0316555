import type { StaffRole } from '../accounts/account'
import { DAY_MS } from '../clock'
import type { AccountId } from '../ids'

/** A cell: one database of accounts, and one gateway that owns it (ADR 45). `main` is the one in DATABASE_URL. */
export type CellName = string

export const MAIN_CELL: CellName = 'main'

/**
 * Which cell has a key, an account or a payment. Every method is one statement on the control database, and rejects if that does not answer. A
 * rejection is not an answer: a caller whose cell is unknown gets 503, never 401.
 */
export interface CellDirectory {
  /** Null if no cell claimed it: it belongs to `main`, whose keys are not in the directory, or does not exist. */
  ofKey(hash: string): Promise<CellName | null>
  /** Null for a user without an account. */
  ofUser(userId: string): Promise<CellName | null>
  /** Null if there is no such account. */
  ofAccount(account: AccountId): Promise<CellName | null>
  /**
   * Records that a key belongs to a cell other than `main`, before that cell commits it. Durable when it resolves. Idempotent. A crash before the
   * commit leaves a row that leads to a cell without the key. `keepUntil`: when the row may be removed, in milliseconds; null: never by itself.
   */
  claimKey(hash: string, cell: CellName, keepUntil: number | null): Promise<void>
  /** The cell that may take the payment with this claim: the first to ask, until the row is removed. Durable when it resolves. */
  claimPayment(claim: string, cell: CellName, keepUntil: number | null): Promise<CellName>
}

/**
 * How long the directory keeps a payment: much longer than one can be presented. A signed payment is valid for ten minutes, a page of the card
 * processor for a day. The cell that took the payment keeps it forever.
 */
export const PAYMENT_KEPT_MS = 30 * DAY_MS

/** See `DirectoryCompleteness`. */
interface Completeness {
  confirm(): Promise<void>
}

/** What one of several cells claims in the directory before it commits, and asks the directory. */
export class CellClaims {
  private readonly directory: Pick<CellDirectory, 'ofKey' | 'claimKey' | 'claimPayment'>
  private readonly cell: CellName
  private readonly completeness: Completeness

  constructor(directory: CellClaims['directory'], cell: CellName, completeness: Completeness) {
    this.directory = directory
    this.cell = cell
    this.completeness = completeness
  }

  /** Call it before committing a key (by the hash of its secret) or anything else by which requests are routed to this cell. */
  async key(hash: string, keepUntil: number | null = null): Promise<void> {
    if (this.cell !== MAIN_CELL) await this.directory.claimKey(hash, this.cell, keepUntil)
  }

  /** Call it before `main` calls a key unknown. Rejects while another cell may have it: an outdated answer routed the request here. */
  async assertUnclaimed(hash: string): Promise<void> {
    if (this.cell !== MAIN_CELL) return
    await this.completeness.confirm()
    const cell = await this.directory.ofKey(hash)
    if (cell !== null) throw new DirectoryUnavailable(`the key belongs to the cell ${cell}`)
  }

  /** Call it before claiming a payment. Whether this cell may take it; if not, it was already used. */
  payment(claim: string, now: number): Promise<boolean> {
    return this.first(claim, now + PAYMENT_KEPT_MS)
  }

  /** Call it before booking money under a reference that is unique across cells. Whether this cell may use it; if not, it was already used. */
  reference(reference: string): Promise<boolean> {
    return this.first(reference, null)
  }

  private async first(claim: string, keepUntil: number | null): Promise<boolean> {
    await this.completeness.confirm()
    return (await this.directory.claimPayment(claim, this.cell, keepUntil)) === this.cell
  }
}

/** The cell of a request cannot be determined now. The answer is 503: a 401 could be wrong. */
export class DirectoryUnavailable extends Error {
  /** Read by core/unavailable.ts. */
  readonly unavailable = true

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}

/** Which cell answers a request; `main` for callers without an account. */
export interface CellRouter {
  /** With one cell: `main`, without a promise. Rejects with `DirectoryUnavailable` while the cell cannot be determined. */
  cellOf(request: Request): CellName | Promise<CellName>
}

/**
 * An operator or support member whom `main` identified by a session: the session is valid, the account is not suspended, and the role comes from the
 * directory. The route in the other cell decides by it as the session's own gateway would.
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

/** Asks the gateway of a cell, in this process or on another node. */
export interface CellCalls {
  /** The answer of the cell's owner, which accepts `staff` instead of a session. A 503 if the owner cannot be reached. */
  ask(cell: CellName, request: Request, staff?: StaffClaim): Promise<Response>
  /** The answer of a cell's owner to a command of the control socket, whose body is JSON. A 503 if the owner cannot be reached or `signal` aborts first. */
  command(
    cell: CellName,
    command: string,
    body: string | Uint8Array<ArrayBuffer>,
    signal?: AbortSignal,
  ): Promise<Response>
  /** All cells, `main` first. */
  cells(): readonly CellName[]
}
