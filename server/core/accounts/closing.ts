import { auditEntry } from '../audit'
import type { Clock } from '../clock'
import { KEY_DEFAULTS } from '../credentials/api-key'
import { keysAmong } from '../credentials/key-lists'
import type { CredentialStore } from '../credentials/store'
import { type Failure, wrongParameters } from '../failure'
import type { AccountId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import { type Money, ZERO } from '../money'
import { err, ok, type Result } from '../result'
import { type Account, closedEmail, staffRole } from './account'
import type { AccountSettingsStore } from './account-settings'
import type { AppGrants } from './app-grants'
import type { IdentitySettings } from './identity'
import type { KeyOwner, Keys } from './keys'
import type { Operator } from './staff/operator'
import type { AccountStore } from './store'
import { invalidParameter } from './submitted'

/** The owner who closes the account, with the email address that the form must repeat. */
export interface DepartingOwner extends KeyOwner {
  readonly account: Account
  readonly email: string
}

/**
 * Closes an account: revokes its keys, disconnects its apps, and deletes the owner's email address, name, password, sessions and
 * source addresses. Ledger and usage records stay, anonymously. The remaining balance is forfeited. Safe to repeat after a
 * failure.
 */
export class AccountClosing {
  private readonly parts: {
    identity: IdentitySettings
    accounts: AccountStore
    keys: Keys
    credentials: CredentialStore
    appGrants: Pick<AppGrants, 'disconnect'>
    settings: AccountSettingsStore
    /** Takes a staff role away. */
    staff: Pick<Operator, 'setRole'>
    ledger: Ledger
    clock: Clock
    /** What other parts do when an account closes, such as unlinking social accounts. Each must be idempotent. */
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
    const { identity, accounts, appGrants, settings, staff, ledger, clock } = this.parts
    // Refused for the last operator. Roles change one at a time, so two operators cannot both be the one who stays.
    const left = staffRole(owner.account) ? await staff.setRole(owner.actor, owner.accountId, null) : ok(owner.account)
    if (!left.ok) return left
    const account = left.value
    for (const onClosing of this.parts.onClosing) await onClosing(owner)
    await this.revokeKeys(owner)
    await appGrants.disconnect(account, 'all', owner.actor)
    const forfeited = (await ledger.balance(account.id))?.posted ?? ZERO
    const at = clock.now()
    // As it is now: it may have been suspended while its keys were revoked.
    const { suspension, ...now } = (await accounts.byId(account.id)) ?? account
    await accounts.update(
      // The reason may say who somebody is.
      { ...now, suspension: suspension && { ...suspension, reason: 'The account is closed.' } },
      auditEntry({
        at,
        actor: owner.actor,
        accountId: account.id,
        action: 'account.close',
        detail: { forfeited_micros_usd: forfeited },
      }),
    )
    await this.parts.forgetEvents(account.id)
    await settings.forgetTraces(account.id)
    await identity.forget(account.userId, closedEmail(account.id))
    // A role that it was given meanwhile; from here on it gets none.
    const closed = await accounts.byId(account.id)
    if (closed && staffRole(closed)) await staff.setRole(owner.actor, account.id, null)
    return ok(forfeited)
  }

  private async revokeKeys(owner: DepartingOwner): Promise<void> {
    const { keys, credentials, clock } = this.parts
    const own = (among: 'live' | 'all') => keysAmong(credentials.lists, owner.accountId, among, clock.now())
    for await (const { id } of own('live')) await keys.revoke(owner, id)
    // Names, notes, tags and addresses may say who somebody is, and so may any setting that is added to these.
    for await (const key of own('all')) {
      const anonymous = { ...key, ...KEY_DEFAULTS, name: key.id, allowlist: null }
      const { actor, accountId } = owner
      const entry = { at: clock.now(), actor, accountId, keyId: key.id, action: 'key.erase' } as const
      if (JSON.stringify(key) !== JSON.stringify(anonymous))
        await credentials.update({ key: anonymous }, auditEntry(entry))
    }
  }
}
