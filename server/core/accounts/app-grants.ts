import { type Actor, type AuditAction, type AuditEntry, auditEntry, JoinedChanges } from '../audit'
import type { Clock } from '../clock'
import type { OAuthApp, OAuthGrants, TokenHolder } from '../credentials/oauth-grant'
import { type Failure, failure } from '../failure'
import { type AccountId, makeId, type PoolId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { HoldStore } from '../ledger/hold'
import type { Money } from '../money'
import { err, ok, type Result } from '../result'
import type { Account } from './account'
import type { AppGrant, AppGrantStore } from './app-grant'
import type { Keys } from './keys'
import type { PoolBudgets } from './pool-budgets'
import type { ActingMember } from './roles'

/** Security actions that also disconnect every app: an intruder may have connected one. */
export type AppsEnd = 'new_password' | 'sign_out_everywhere'

/** A member who lets an app in. */
export interface GrantingOwner {
  readonly accountId: AccountId
  readonly member: Pick<ActingMember, 'userId'>
  readonly actor: Actor
}

interface Ending {
  readonly because?: AppsEnd
  /** Keys that are not revoked. */
  readonly keptKeys?: readonly string[]
}

interface AppGrantsParts {
  readonly store: AppGrantStore
  readonly grants: OAuthGrants
  readonly holds: HoldStore
  readonly keys: Pick<Keys, 'revokeAll'>
  readonly poolBudgets: Pick<PoolBudgets, 'memberPool' | 'move'>
  readonly clock: Clock
}

/**
 * Manages the apps that members connected. When a promise resolves, the change is durable and applies to the next request.
 * Changes of one member run one at a time.
 */
export class AppGrants {
  private readonly parts: AppGrantsParts
  private readonly mutex = new KeyedMutex()
  private readonly changes = new JoinedChanges()

  constructor(parts: AppGrantsParts) {
    this.parts = parts
  }

  /** The grant of an app that presents a token. Created now, for the user's own workspace and without a limit, unless the owner did before. */
  of(own: Pick<Account, 'id'> & TokenHolder, address: string): Promise<AppGrant> {
    const { userId, clientId } = own
    return this.mutex.take(
      userId,
      async () =>
        (await this.parts.store.live(userId, clientId)) ??
        this.open(
          { accountId: own.id, actor: { kind: 'owner', id: userId, address } },
          userId,
          await this.app(clientId),
          null,
        ),
    )
  }

  /**
   * Lets an app of the member call for this workspace from now on, instead of another one. What it has in the workspace, such as its limit,
   * stays; in another one it is disconnected, and the keys that it made there are revoked. Idempotent.
   */
  async connect(owner: GrantingOwner, clientId: string): Promise<void> {
    await this.mutex.take(owner.member.userId, async () => {
      if (await this.liveIn(owner, clientId)) return
      await this.open(owner, owner.member.userId, await this.app(clientId), null)
    })
  }

  /**
   * Sets an app's spending limit; null removes it. Creates the grant if there is none, so that the limit is in place before the
   * app gets its first token.
   */
  setLimit(owner: GrantingOwner, clientId: string, limit: Money | null): Promise<Result<AppGrant, Failure>> {
    const { member, actor } = owner
    return this.mutex.take(member.userId, async () => {
      const app = await this.parts.grants.app(clientId)
      if (!app) return err(failure('resource_not_found', 'This app does not exist or is no longer connected.'))
      const known = await this.liveIn(owner, clientId)
      if (!known) return ok(await this.open(owner, member.userId, app, limit))
      // Read before the change, so that nothing can fail after it.
      const before = { limit: (await this.parts.holds.pool(known.poolId, this.parts.clock.now()))?.limit ?? null }
      const audit = this.changes.of(this.audit(known, actor, 'connection.limit', { limit }, before))
      await this.parts.store.setLimit(known, limit, audit)
      await this.parts.holds.setPoolLimit(known.poolId, limit)
      return ok(known)
    })
  }

  /**
   * Disconnects apps of a member, and revokes the keys that they created but for those in `keptKeys`. Tokens go first, so that no
   * later failure leaves one valid. Idempotent. Returns the number of grants that ended. `because` is the security action that caused it,
   * for the audit log.
   */
  disconnect(userId: string, clientId: string | 'all', actor: Actor, ending: Ending = {}): Promise<number> {
    return this.mutex.take(userId, async () => {
      await this.parts.grants.disconnect(userId, clientId)
      const live = await this.parts.store.liveOf(userId)
      return this.end(
        live.filter((grant) => clientId === 'all' || grant.clientId === clientId),
        actor,
        ending,
      )
    })
  }

  /** From now on the member's apps of the workspace count in this pool. */
  countIn(
    { accountId, actor }: Pick<GrantingOwner, 'accountId' | 'actor'>,
    userId: string,
    pool: PoolId,
  ): Promise<void> {
    return this.mutex.take(userId, async () => {
      const live = (await this.parts.store.liveOf(userId)).filter((grant) => grant.accountId === accountId)
      for (const grant of live) {
        const audit = this.audit(grant, actor, 'connection.limit', { pool })
        await this.parts.poolBudgets.move(accountId, grant.poolId, pool, audit)
      }
    })
  }

  /** The same for all apps of a workspace, or for those of one member in it. */
  async disconnectAll(accountId: AccountId, userId: string | null, actor: Actor): Promise<number> {
    const live = (await this.parts.store.byAccount(accountId, userId)).filter((grant) => grant.disconnectedAt === null)
    for (const grant of live) await this.parts.grants.disconnect(grant.userId, grant.clientId)
    return this.end(live, actor, {})
  }

  /** The app's grant for this workspace. Ends one for another: each app has one workspace of a member at a time. */
  private async liveIn({ accountId, member, actor }: GrantingOwner, clientId: string): Promise<AppGrant | null> {
    const live = await this.parts.store.live(member.userId, clientId)
    if (live === null || live.accountId === accountId) return live
    await this.end([live], actor, {})
    return null
  }

  private async end(live: readonly AppGrant[], actor: Actor, { because, keptKeys = [] }: Ending): Promise<number> {
    if (live.length === 0) return 0
    const audits = live.map((grant) => this.audit(grant, actor, 'connection.end', because ? { because } : {}))
    await this.parts.store.disconnect(live, this.parts.clock.now(), audits)
    const ended = new Set<string | null>(live.map(({ id }) => id))
    for (const accountId of new Set(live.map((grant) => grant.accountId)))
      await this.parts.keys.revokeAll(
        { accountId, actor },
        ({ id, createdBy }) => ended.has(createdBy) && !keptKeys.includes(id),
      )
    return live.length
  }

  /** An app with a token exists. If it cannot be found all the same, a missing name must not fail the call. */
  private async app(clientId: string): Promise<Pick<OAuthApp, 'clientId' | 'name'>> {
    return (await this.parts.grants.app(clientId)) ?? { clientId, name: 'App' }
  }

  private async open(
    { accountId, actor }: Pick<GrantingOwner, 'accountId' | 'actor'>,
    userId: string,
    { clientId, name }: Pick<OAuthApp, 'clientId' | 'name'>,
    limit: Money | null,
  ): Promise<AppGrant> {
    const createdAt = this.parts.clock.now()
    const grant: AppGrant = {
      id: makeId('conn', createdAt),
      accountId,
      poolId: makeId('pool', createdAt),
      userId,
      clientId,
      name,
      createdAt,
      disconnectedAt: null,
    }
    const parent = await this.parts.poolBudgets.memberPool(accountId, userId)
    await this.parts.holds.openPool({ id: grant.poolId, account: accountId, limit, parent, kind: 'app' })
    await this.parts.store.create(
      grant,
      { limit, parentId: parent },
      this.audit(grant, actor, 'connection.open', { limit }),
    )
    return grant
  }

  private audit(
    grant: AppGrant,
    actor: Actor,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): AuditEntry {
    const at = this.parts.clock.now()
    const { id, accountId, clientId } = grant
    const more = { connection: id, client_id: clientId, ...detail }
    return auditEntry({ at, actor, accountId, action, detail: more, before })
  }
}
