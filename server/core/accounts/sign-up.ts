import { createHmac } from 'node:crypto'
import { auditEntry } from '../audit'
import type { Clock } from '../clock'
import { type CellName, MAIN_CELL } from '../cluster/cells'
import { networkOf, parseAddress, UNKNOWN_ADDRESS } from '../credentials/address'
import { makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { Ledger } from '../ledger/ledger'
import type { Account } from './account'
import type { AccountDirectory, AccountHome } from './directory'
import { SIGNUP_CREDIT, type SignupCredit, type SignupCreditStore } from './signup-credit'
import type { SetupToken } from './staff/setup-token'
import type { AccountStore } from './store'

/** Users whose credit is known to be settled. The whole set is cleared when it is full. */
const MAX_SETTLED = 50_000

/** The source of a sign-up. */
export interface SignUpOrigin {
  readonly address: string | null
  /** Whether the request was made on this machine and not through a proxy. */
  readonly isFromThisMachine: boolean
}

const UNKNOWN_ORIGIN: SignUpOrigin = { address: null, isFromThisMachine: false }

interface Parts {
  readonly accounts: AccountStore
  readonly directory: Pick<AccountDirectory, 'assignHome' | 'homeOf'>
  /** The cell of `accounts` and `ledger`. */
  readonly cell: CellName
  /** The open cells, `main` first. */
  readonly cells: readonly CellName[]
  readonly ledger: Ledger
  readonly credits: SignupCreditStore
  readonly clock: Clock
  readonly setupToken: Pick<SetupToken, 'withdraw'>
  /** Whether the first account becomes the operator if it signs up on this machine. */
  readonly firstIsOperator: boolean
  /** Whether owners confirm their address before they get credit and may sign in: whether mail is configured. */
  readonly confirms: boolean
  /** No brake applies to sign-ups on this machine outside production. */
  readonly production: boolean
  /** Hashes the networks of sign-ups. */
  readonly secret: string
  /** A brake refused credit to a new account. */
  readonly onCreditRefused: (credit: SignupCredit) => void
}

/**
 * Opens a user's account: first its row in the directory, whose statement decides whether it is the first account and becomes operator; then
 * the account and its 2 USD signup credit, in one commit, under the id of that row. Idempotent, also after a crash between the two: the sign-up
 * hook calls it, and `/api` calls it again if that hook failed (spec D4). Returns null when the account could not be committed. Where
 * owners confirm their address, the credit is one more idempotent step.
 *
 * With several cells, `main` decides the credit and the directory says the cell. The account itself is opened, and its credit booked, by the
 * gateway of that cell at the user's first request, and by no other one.
 */
export class SignUp {
  private readonly parts: Parts
  private readonly mutex = new KeyedMutex()
  /** Users who confirmed their address and did not sign in since, while this process runs. */
  private readonly newcomers = new Set<string>()
  /** Users of a cell other than `main` whose credit is booked, or refused for good. */
  private readonly settled = new Set<string>()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Null if it could not be committed, or is another cell's (`isElsewhere`). */
  openAccount(userId: string, origin: SignUpOrigin = UNKNOWN_ORIGIN): Promise<Account | null> {
    return this.mutex.take(userId, async () => {
      const { accounts, directory, cell } = this.parts
      const known = await accounts.byUser(userId)
      if (known) {
        if (cell !== MAIN_CELL) await this.settleCredit(known)
        return known
      }
      const before = await directory.homeOf(userId)
      if (cell !== MAIN_CELL) {
        if (before?.cell !== cell) return null
        return this.open(userId, before, await this.parts.credits.of(userId), origin)
      }
      if (before && before.cell !== cell) return null
      const at = this.parts.clock.now()
      const credit = await this.decide(userId, origin, at)
      const home = await this.assignHome(userId, origin, at)
      return home.cell === cell ? this.open(userId, home, credit, origin) : null
    })
  }

  /** Whether the account of this user is another cell's, open or not. */
  async isElsewhere(userId: string): Promise<boolean> {
    const home = await this.parts.directory.homeOf(userId)
    return home !== null && home.cell !== this.parts.cell
  }

  /**
   * The owner proved that the address is theirs, which grants the credit that waited for it. Safe to repeat: the decision and the
   * ledger's reference allow one credit. Returns false when the database could not write it; then call again.
   */
  confirm(userId: string): Promise<boolean> {
    return this.mutex.take(userId, async () => {
      const { accounts, ledger, clock, credits } = this.parts
      const account = await accounts.byUser(userId)
      if (!account && !(await this.isElsewhere(userId))) return false
      const before = await credits.of(userId)
      const credit = await credits.confirm(userId, clock.now())
      if (credit !== before) {
        this.report(credit)
        this.newcomers.add(userId)
      }
      // The account's own cell books it.
      if (credit !== 'granted' || !account) return true
      const booked = await ledger.credit({ ...creditOf(userId), account: account.id })
      return booked.ok || booked.error === 'already_booked'
    })
  }

  /** The state of the user's signup credit. Users from before the brakes got theirs at sign-up. */
  async credit(userId: string): Promise<SignupCredit> {
    return (await this.parts.credits.of(userId)) ?? 'granted'
  }

  /**
   * Whether the user may have a session: not before the address is confirmed, where owners confirm it. A granted credit that a
   * crash kept from the ledger is booked here.
   */
  async mayEnter(userId: string): Promise<boolean> {
    if (!this.parts.confirms) return true
    await this.openAccount(userId)
    const credit = await this.parts.credits.of(userId)
    if (credit === 'awaiting_confirmation') return false
    if (credit === 'granted') await this.confirm(userId)
    return true
  }

  /** True once, after the user confirmed the address of the sign-up. */
  isFirstSignIn(userId: string): boolean {
    return this.newcomers.delete(userId)
  }

  private assignHome(userId: string, { isFromThisMachine }: SignUpOrigin, at: number): Promise<AccountHome> {
    const { directory, firstIsOperator, cells } = this.parts
    const mayBeOperator = firstIsOperator && isFromThisMachine
    return directory.assignHome({ accountId: makeId('acct', at), userId, mayBeOperator, createdAt: at, cells })
  }

  private async open(
    userId: string,
    { accountId: id, role, createdAt }: AccountHome,
    credit: SignupCredit | null,
    origin: SignUpOrigin,
  ): Promise<Account | null> {
    const { accounts, ledger, clock, setupToken } = this.parts
    const opening = { id, userId, createdAt }
    const audit = auditEntry({
      ...{ at: clock.now(), accountId: id, action: 'account.open' },
      actor: { kind: 'owner', id: userId, address: origin.address },
      detail: { credit, operator: role === 'operator' },
    })
    const opened =
      credit === 'granted'
        ? await ledger.credit({ ...creditOf(userId), account: id, opening, audit })
        : await ledger.openAccount(opening, audit)
    if (!opened.ok) return null
    this.noteSettled(userId, credit)
    const account = await accounts.byUser(userId)
    if (account?.operator) setupToken.withdraw()
    return account
  }

  /** Books a credit that `main` granted after the account was opened here, once. Tries again at the next request if it cannot. */
  private async settleCredit({ id, userId }: Account): Promise<void> {
    if (this.settled.has(userId)) return
    const { ledger, credits } = this.parts
    const credit = await credits.of(userId)
    if (credit === 'granted') {
      const booked = await ledger.credit({ ...creditOf(userId), account: id })
      if (!booked.ok && booked.error !== 'already_booked') return
    }
    this.noteSettled(userId, credit)
  }

  private noteSettled(userId: string, credit: SignupCredit | null): void {
    if (this.parts.cell === MAIN_CELL || credit === 'awaiting_confirmation') return
    if (this.settled.size >= MAX_SETTLED) this.settled.clear()
    this.settled.add(userId)
  }

  private async decide(userId: string, origin: SignUpOrigin, at: number): Promise<SignupCredit> {
    const { confirms, credits } = this.parts
    const request = { userId, network: this.networkOf(origin), amount: SIGNUP_CREDIT, at }
    const credit = await (confirms ? credits.await(request) : credits.decide(request))
    this.report(credit)
    return credit
  }

  private report(credit: SignupCredit | null): void {
    if (credit === 'network_limit' || credit === 'daily_limit') this.parts.onCreditRefused(credit)
  }

  private networkOf({ address, isFromThisMachine }: SignUpOrigin): string | null {
    const { production, secret } = this.parts
    if (isFromThisMachine && !production) return null
    const network = networkOf(parseAddress(address ?? '') ?? UNKNOWN_ADDRESS)
    return createHmac('sha256', secret).update(`signup-network\n${network}`).digest('base64url')
  }
}

function creditOf(userId: string) {
  return {
    part: 'credit',
    kind: 'signup_credit',
    amount: SIGNUP_CREDIT,
    description: 'Signup credit',
    reference: `signup_credit:${userId}`,
  } as const
}
