import { createHmac } from 'node:crypto'
import { auditEntry } from '../audit'
import type { Clock } from '../clock'
import { networkOf, parseAddress, UNKNOWN_ADDRESS } from '../credentials/address'
import { makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { Ledger } from '../ledger/ledger'
import type { Account } from './account'
import type { AccountDirectory, DirectoryEntry } from './directory'
import type { MemberStore } from './members'
import { SIGNUP_CREDIT, type SignupCredit, type SignupCreditStore } from './signup-credit'
import type { SetupToken } from './staff/setup-token'
import type { AccountStore } from './store'

/** The source of a sign-up. */
export interface SignUpOrigin {
  readonly address: string | null
  /** Whether the request was made on this machine and not through a proxy. */
  readonly isFromThisMachine: boolean
}

const UNKNOWN_ORIGIN: SignUpOrigin = { address: null, isFromThisMachine: false }

interface Parts {
  readonly accounts: AccountStore
  readonly directory: Pick<AccountDirectory, 'assign'>
  readonly members: Pick<MemberStore, 'changed'>
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
 */
export class SignUp {
  private readonly parts: Parts
  private readonly mutex = new KeyedMutex()
  /** Users who confirmed their address and did not sign in since, while this process runs. */
  private readonly newcomers = new Set<string>()

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** Null if it could not be committed. */
  openAccount(userId: string, origin: SignUpOrigin = UNKNOWN_ORIGIN): Promise<Account | null> {
    return this.mutex.take(userId, async () => {
      const { accounts, directory, members, clock, firstIsOperator } = this.parts
      const known = await accounts.byUser(userId)
      if (known) return known
      const at = clock.now()
      const credit = await this.decide(userId, origin, at)
      const mayBeOperator = firstIsOperator && origin.isFromThisMachine
      const entry = await directory.assign({ accountId: makeId('acct', at), userId, mayBeOperator, createdAt: at })
      // The row in the directory comes with the membership.
      members.changed(userId)
      return this.open(userId, entry, credit, origin)
    })
  }

  /**
   * The owner proved that the address is theirs, which grants the credit that waited for it. Safe to repeat: the decision and the
   * ledger's reference allow one credit. Returns false when the database could not write it; then call again.
   */
  confirm(userId: string): Promise<boolean> {
    return this.mutex.take(userId, async () => {
      const { accounts, ledger, clock, credits } = this.parts
      const account = await accounts.byUser(userId)
      if (!account) return false
      const before = await credits.of(userId)
      const credit = await credits.confirm(userId, clock.now())
      if (credit !== before) {
        this.report(credit)
        this.newcomers.add(userId)
      }
      if (credit !== 'granted') return true
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

  private async open(
    userId: string,
    { accountId: id, role, createdAt }: DirectoryEntry,
    credit: SignupCredit | null,
    origin: SignUpOrigin,
  ): Promise<Account | null> {
    const { accounts, ledger, clock, setupToken } = this.parts
    const opening = { id, userId, createdAt }
    const audit = auditEntry({
      at: clock.now(),
      accountId: id,
      action: 'account.open',
      actor: { kind: 'owner', id: userId, address: origin.address },
      detail: { credit, operator: role === 'operator' },
    })
    const credited =
      credit === 'granted' ? await ledger.credit({ ...creditOf(userId), account: id, opening, audit }) : null
    // Who handed the first account over had the credit in that one.
    const isPlain = credited === null || (!credited.ok && credited.error === 'already_booked')
    const opened = isPlain ? await ledger.openAccount(opening, audit) : credited
    if (!opened.ok) return null
    const account = await accounts.byUser(userId)
    if (account?.operator) setupToken.withdraw()
    return account
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
