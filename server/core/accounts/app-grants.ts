import { type Actor, type AuditAction, type AuditEntry, auditEntry, JoinedChanges } from '../audit'
import type { Clock } from '../clock'
import type { OAuthApp, OAuthGrants } from '../credentials/oauth-grant'
import { type Failure, failure } from '../failure'
import { type AccountId, makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { HoldStore } from '../ledger/hold'
import type { Money } from '../money'
import { err, ok, type Result } from '../result'
import type { Account } from './account'
import type { AppGrant, AppGrantStore } from './app-grant'
import type { Keys } from './keys'

/** Security actions that also disconnect every app: an intruder may have connected one. */
export type AppsEnd = 'new_password' | 'sign_out_everywhere'

interface AppGrantsParts {
  readonly store: AppGrantStore
  readonly grants: OAuthGrants
  readonly holds: HoldStore
  readonly keys: Pick<Keys, 'revokeAll'>
  readonly clock: Clock
}

/**
 * Manages the apps that an owner connected. When a promise resolves, the change is durable and applies to the next request.
 * Changes of one account run one at a time.
 */
export class AppGrants {
  private readonly parts: AppGrantsParts
  private readonly mutex = new KeyedMutex()
  private readonly changes = new JoinedChanges()

  constructor(parts: AppGrantsParts) {
    this.parts = parts
  }

  /** The grant of an app that presents a token. Created now, without a limit, unless the owner set a limit before. */
  async of(account: Account, clientId: string, address: string): Promise<AppGrant> {
    const known = await this.parts.store.live(account.id, clientId)
    if (known) return known
    const actor: Actor = { kind: 'owner', id: account.userId, address }
    return this.mutex.take(
      account.id,
      async () =>
        (await this.parts.store.live(account.id, clientId)) ??
        this.open(account.id, await this.app(clientId), null, actor),
    )
  }

  /**
   * Sets an app's spending limit; null removes it. Creates the grant if there is none, so that the limit is in place before the
   * app gets its first token.
   */
  setLimit(
    accountId: AccountId,
    clientId: string,
    limit: Money | null,
    actor: Actor,
  ): Promise<Result<AppGrant, Failure>> {
    return this.mutex.take(accountId, async () => {
      const app = await this.parts.grants.app(clientId)
      if (!app) return err(failure('resource_not_found', 'This app does not exist or is no longer connected.'))
      const known = await this.parts.store.live(accountId, clientId)
      if (!known) return ok(await this.open(accountId, app, limit, actor))
      // Read before the change, so that nothing can fail after it.
      const before = { limit: (await this.parts.holds.pool(known.poolId, this.parts.clock.now()))?.limit ?? null }
      const audit = this.changes.of(this.audit(known, actor, 'connection.limit', { limit }, before))
      await this.parts.store.setLimit(known, limit, audit)
      await this.parts.holds.setPoolLimit(known.poolId, limit)
      return ok(known)
    })
  }

  /**
   * Disconnects one app or all of them, and revokes the keys that they created but for those in `keptKeys`. Tokens go first, so that no
   * later failure leaves one valid. Idempotent. Returns the number of grants that ended. `because` is the security action that caused it,
   * for the audit log.
   */
  disconnect(
    account: Pick<Account, 'id' | 'userId'>,
    clientId: string | 'all',
    actor: Actor,
    { because, keptKeys = [] }: { readonly because?: AppsEnd; readonly keptKeys?: readonly string[] } = {},
  ): Promise<number> {
    return this.mutex.take(account.id, async () => {
      await this.parts.grants.disconnect(account.userId, clientId)
      const live = (await this.parts.store.byAccount(account.id)).filter(
        (grant) => grant.disconnectedAt === null && (clientId === 'all' || grant.clientId === clientId),
      )
      const audits = live.map((grant) => this.audit(grant, actor, 'connection.end', because ? { because } : {}))
      if (live.length === 0) return 0
      await this.parts.store.disconnect(live, this.parts.clock.now(), audits)
      const ended = new Set<string | null>(live.map(({ id }) => id))
      await this.parts.keys.revokeAll(
        { accountId: account.id, actor },
        ({ id, createdBy }) => ended.has(createdBy) && !keptKeys.includes(id),
      )
      return live.length
    })
  }

  /** An app with a token exists. If it cannot be found all the same, a missing name must not fail the call. */
  private async app(clientId: string): Promise<Pick<OAuthApp, 'clientId' | 'name'>> {
    return (await this.parts.grants.app(clientId)) ?? { clientId, name: 'App' }
  }

  private async open(
    accountId: AccountId,
    { clientId, name }: Pick<OAuthApp, 'clientId' | 'name'>,
    limit: Money | null,
    actor: Actor,
  ): Promise<AppGrant> {
    const createdAt = this.parts.clock.now()
    const grant: AppGrant = {
      id: makeId('conn', createdAt),
      accountId,
      poolId: makeId('pool', createdAt),
      clientId,
      name,
      createdAt,
      disconnectedAt: null,
    }
    await this.parts.holds.openPool({ id: grant.poolId, account: accountId, limit, kind: 'app' })
    await this.parts.store.create(grant, limit, this.audit(grant, actor, 'connection.open', { limit }))
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
