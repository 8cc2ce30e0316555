import { type Actor, auditEntry } from '../audit'
import type { Clock } from '../clock'
import type { ApiKey, Budget } from '../credentials/api-key'
import { keysAmong } from '../credentials/key-lists'
import type { CredentialStore } from '../credentials/store'
import type { EventPublisher } from '../events/live-events'
import type { Failure } from '../failure'
import { type AccountId, type KeyId, memberPool, type PoolId } from '../ids'
import { err, ok, type Result } from '../result'
import type { AppGrants } from './app-grants'
import { type Keys, NO_SUCH_KEY } from './keys'
import type { GroupPool, PoolBudgets } from './pool-budgets'
import type { Submitted } from './submitted'

/** What becomes of the keys of a member who leaves: disabled, or given to another member or, with null, to the workspace. */
export type KeysOfLeaver = 'disable' | { readonly to: string | null }

interface Parts {
  readonly keys: Pick<Keys, 'inTurn'>
  readonly appGrants: Pick<AppGrants, 'countIn'>
  readonly credentials: Pick<CredentialStore, 'lists' | 'byId' | 'end' | 'giveTo'>
  readonly poolBudgets: PoolBudgets
  readonly events: EventPublisher
  readonly clock: Clock
}

interface By {
  readonly accountId: AccountId
  readonly actor: Actor
}

/**
 * Whose keys are, and what they count in. A member's keys and apps count in a pool of the member from the first budget on, which is checked in the step
 * that holds the money. When a promise resolves, the change is durable and applies to the next request.
 */
export class MemberKeys {
  private readonly parts: Parts

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** The budgets of a member over all keys and apps of theirs, with their current periods. */
  budgetsOf(account: AccountId, userId: string) {
    return this.parts.poolBudgets.of(memberPool(account, userId))
  }

  /** Replaces them. What the current periods have spent already counts. */
  async setBudgets(
    by: By,
    userId: string,
    sent: Submitted<{ readonly budgets: readonly Budget[] }>,
  ): Promise<Result<null, Failure>> {
    const { accountId } = by
    const pool: GroupPool = { id: memberPool(accountId, userId), accountId, kind: 'member' }
    const { poolBudgets, keys, appGrants } = this.parts
    // From here on new keys and apps of the member begin in it, so that none is between those that are moved and those that are made.
    await poolBudgets.open(pool)
    await keys.inTurn(accountId, async () => {
      const own = await this.live(accountId, userId)
      for (const key of own.filter(({ createdBy }) => createdBy === null)) await this.move(by, key, pool.id)
    })
    await appGrants.countIn(by, userId, pool.id)
    return poolBudgets.set(pool, sent, by.actor)
  }

  /** A member left. */
  leave(by: By, userId: string, keys: KeysOfLeaver): Promise<void> {
    return this.parts.keys.inTurn(by.accountId, async () => {
      const own = await this.live(by.accountId, userId)
      if (keys !== 'disable') return this.give(by, own, keys.to)
      const now = this.parts.clock.now()
      const enabled = own.filter(({ disabledAt }) => disabledAt === null)
      const audits = enabled.map(({ id }) => auditEntry({ ...by, at: now, keyId: id, action: 'key.disable' }))
      await this.parts.credentials.end(enabled, { disabledAt: now }, audits)
      this.announce(enabled)
    })
  }

  /** From now on the key is that of another member, or with null the workspace's. */
  giveKey(by: By, id: string, to: string | null): Promise<Result<null, Failure>> {
    return this.parts.keys.inTurn(by.accountId, async () => {
      const key = await this.parts.credentials.byId(id as KeyId) // safe for any text: an unknown id finds nothing
      if (key?.accountId !== by.accountId) return err(NO_SUCH_KEY)
      await this.give(by, [key], to)
      return ok(null)
    })
  }

  private async give(by: By, keys: readonly ApiKey[], to: string | null): Promise<void> {
    const at = this.parts.clock.now()
    const audits = keys.map(({ id }) => auditEntry({ ...by, at, keyId: id, action: 'key.give', detail: { to } }))
    await this.parts.credentials.giveTo(keys, to, audits)
    const heir = to === null ? null : await this.parts.poolBudgets.memberPool(by.accountId, to)
    for (const key of keys) if (key.createdBy === null) await this.move(by, key, heir)
    this.announce(keys)
  }

  private move(by: By, { id, poolId }: ApiKey, parent: PoolId | null): Promise<void> {
    const at = this.parts.clock.now()
    const audit = auditEntry({ ...by, at, keyId: id, action: 'key.change', detail: { pool: parent } })
    return this.parts.poolBudgets.move(by.accountId, poolId, parent, audit)
  }

  private async live(account: AccountId, userId: string): Promise<ApiKey[]> {
    const own: ApiKey[] = []
    const lists = this.parts.credentials.lists.seenBy(userId)
    for await (const key of keysAmong(lists, account, 'live', this.parts.clock.now())) own.push(key)
    return own
  }

  private announce(keys: readonly ApiKey[]): void {
    for (const { accountId, id } of keys) this.parts.events.publish(accountId, { type: 'key', id })
  }
}
