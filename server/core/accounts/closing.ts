import { auditEntry } from '../audit'
import type { Clock } from '../clock'
import { KEY_DEFAULTS } from '../credentials/api-key'
import { keysAmong } from '../credentials/key-lists'
import type { CredentialStore } from '../credentials/store'
import { type Failure, failure, wrongParameters } from '../failure'
import type { AccountId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import { type Money, ZERO } from '../money'
import { err, ok, type Result } from '../result'
import { type Account, closedEmail, staffRole } from './account'
import type { AccountSettingsStore } from './account-settings'
import type { IdentitySettings } from './identity'
import type { KeyOwner, Keys } from './keys'
import type { MemberStore } from './members'
import type { Operator } from './staff/operator'
import { invalidParameter } from './submitted'

/** The owner who closes the account, with the email address that the form must repeat. */
export interface DepartingOwner extends KeyOwner {
  readonly account: Account
  readonly email: string
}

/**
 * Closes an account: marks it first, so that nothing is made or served for it from then on. Then revokes its keys, disconnects its
 * apps, and deletes the owner's email address, name, password, sessions and source addresses. Ledger and usage records stay, anonymously. The remaining balance is forfeited. Safe to repeat after a
 * failure.
 */
export class AccountClosing {
  private readonly parts: {
    identity: IdentitySettings
    keys: Keys
    credentials: CredentialStore
    settings: AccountSettingsStore
    /** Takes a staff role away, and marks the account as closed. */
    staff: Pick<Operator, 'setRole' | 'close'>
    ledger: Ledger
    members: Pick<MemberStore, 'of' | 'ofAccount' | 'forget'>
    clock: Clock
    /** Work of other parts when an account closes, such as disconnecting its apps. Each must be idempotent. */
    onClosing: readonly ((owner: DepartingOwner) => Promise<unknown>)[]
    /** Removes the events of the account, also those of its closing. */
    forgetEvents: (account: AccountId) => Promise<void>
  }

  constructor(parts: AccountClosing['parts']) {
    this.parts = parts
  }

  /** Closes the account and returns the forfeited balance. `repeated` is the email address that the owner typed again. */
  async close(owner: DepartingOwner, repeated: string): Promise<Result<Money, Failure>> {
    const { email } = owner
    if (repeated.trim().toLowerCase() !== email.toLowerCase())
      return err(wrongParameters([invalidParameter('email', 'must be the email address of this account', repeated)]))
    return this.erase(owner)
  }

  /** Closes the account without asking for its email address: for an operator, by request of the owner. */
  async erase(owner: DepartingOwner): Promise<Result<Money, Failure>> {
    const { identity, settings, staff, ledger, members } = this.parts
    const { accountId, actor } = owner
    const { userId } = owner.account
    const shared = await members.ofAccount(accountId)
    if (shared.some((one) => one.userId !== userId))
      return err(failure('invalid_state', 'Others are members of this workspace. Hand it over, or remove them first.'))
    const owned = (await members.of(userId)).filter(({ role }) => role === 'owner')
    if (owned.some((one) => one.accountId !== accountId))
      return err(failure('invalid_state', 'You own another workspace, too. Hand that one over first.'))
    // Refused for the last operator. Roles change one at a time, so two operators cannot both be the one who stays.
    const left = staffRole(owner.account) ? await staff.setRole(actor, accountId, null) : ok(owner.account)
    if (!left.ok) return left
    const forfeited = (await ledger.balance(accountId))?.posted ?? ZERO
    const marked = await staff.close(actor, accountId, forfeited)
    if (!marked.ok) return marked
    // A role that it was given meanwhile; from here on it gets none.
    if (staffRole(marked.value)) await staff.setRole(actor, accountId, null)
    for (const onClosing of this.parts.onClosing) await onClosing(owner)
    await this.eraseKeys(owner)
    await this.parts.forgetEvents(accountId)
    await settings.forgetTraces(accountId)
    await identity.forget(userId, closedEmail(accountId))
    await members.forget(userId)
    return ok(forfeited)
  }

  private async eraseKeys(owner: DepartingOwner): Promise<void> {
    const { keys, credentials, clock } = this.parts
    await keys.revokeAll(owner, () => true)
    // Names, notes, tags and addresses may say who somebody is, and so may any setting that is added to these.
    for await (const key of keysAmong(credentials.lists, owner.accountId, 'all', clock.now())) {
      const anonymous = { ...key, ...KEY_DEFAULTS, name: key.id, allowlist: null }
      const { actor, accountId } = owner
      const entry = { at: clock.now(), actor, accountId, keyId: key.id, action: 'key.erase' } as const
      if (JSON.stringify(key) !== JSON.stringify(anonymous))
        await credentials.update({ key: anonymous }, auditEntry(entry))
    }
  }
}
