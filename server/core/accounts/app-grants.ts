import { type Actor, type AuditEntry, auditEntry } from '../audit'
import type { Clock } from '../clock'
import type { OAuthApp, OAuthGrants } from '../credentials/oauth-grant'
import { type Failure, failure } from '../failure'
import { type AccountId, makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { HoldStore } from '../ledger/hold'
import type { Money } from '../money'
import { no, ok, type Result } from '../result'
import type { Account } from './account'
import type { AppGrant, AppGrantStore } from './app-grant'

/** What ends the access of apps beside the wish to end it: whoever is shut out by it may have let one in. */
export type AppsEnd = 'new_password' | 'sign_out_everywhere'

/**
 * What an owner does to connected apps. A change is durable and binds the next request when its promise resolves; changes of
 * one account happen one after the other.
 */
export class AppGrants {
  private readonly store: AppGrantStore
  private readonly grants: OAuthGrants
  private readonly holds: HoldStore
  private readonly clock: Clock
  private readonly turns = new KeyedMutex()

  constructor(parts: { store: AppGrantStore; grants: OAuthGrants; holds: HoldStore; clock: Clock }) {
    this.store = parts.store
    this.grants = parts.grants
    this.holds = parts.holds
    this.clock = parts.clock
  }

  /** The connection of an app that holds a token: made now, without a limit, when the owner set none before. */
  async of(account: Account, clientId: string, address: string): Promise<AppGrant> {
    const known = await this.store.live(account.id, clientId)
    if (known) return known
    const actor: Actor = { kind: 'owner', id: account.userId, address }
    return this.turns.take(
      account.id,
      async () =>
        (await this.store.live(account.id, clientId)) ?? this.open(account.id, await this.app(clientId), null, actor),
    )
  }

  /** Sets the most that an app may spend; null is no limit of its own. Makes the connection where there is none, so that the
   * limit stands before the first token does. */
  setLimit(
    accountId: AccountId,
    clientId: string,
    limit: Money | null,
    actor: Actor,
  ): Promise<Result<AppGrant, Failure>> {
    return this.turns.take(accountId, async () => {
      const app = await this.grants.app(clientId)
      if (!app) return no(failure('resource_not_found', 'No such app.'))
      const known = await this.store.live(accountId, clientId)
      if (!known) return ok(await this.open(accountId, app, limit, actor))
      await this.store.setLimit(known, limit, this.audit(known, actor, 'connection.limit', { limit }))
      await this.holds.setPoolLimit(known.poolId, limit)
      return ok(known)
    })
  }

  /**
   * Ends an app's access, or every app's: its tokens first, so that no later failure leaves one alive. Free to repeat. Gives how many
   * there were. `because`: what the owner did, where it was more than to disconnect; it stands in the audit.
   */
  disconnect(account: Account, clientId: string | 'all', actor: Actor, because?: AppsEnd): Promise<number> {
    return this.turns.take(account.id, async () => {
      await this.grants.disconnect(account.userId, clientId)
      const live = (await this.store.byAccount(account.id)).filter(
        (one) => one.disconnectedAt === null && (clientId === 'all' || one.clientId === clientId),
      )
      const audits = live.map((one) => this.audit(one, actor, 'connection.end', because ? { because } : {}))
      if (live.length > 0) await this.store.disconnect(live, this.clock.now(), audits)
      return live.length
    })
  }

  /** An app holds a token, so it is known; its name is not worth a failed call. */
  private async app(clientId: string): Promise<Pick<OAuthApp, 'clientId' | 'name'>> {
    return (await this.grants.app(clientId)) ?? { clientId, name: 'App' }
  }

  private async open(
    accountId: AccountId,
    { clientId, name }: Pick<OAuthApp, 'clientId' | 'name'>,
    limit: Money | null,
    actor: Actor,
  ): Promise<AppGrant> {
    const createdAt = this.clock.now()
    const grant: AppGrant = {
      id: makeId('conn', createdAt),
      accountId,
      poolId: makeId('pool', createdAt),
      clientId,
      name,
      createdAt,
      disconnectedAt: null,
    }
    await this.holds.openPool(grant.poolId, accountId, limit)
    await this.store.create(grant, limit, this.audit(grant, actor, 'connection.open', { limit }))
    return grant
  }

  private audit(grant: AppGrant, actor: Actor, action: string, detail: Record<string, unknown>): AuditEntry {
    const at = this.clock.now()
    const { id, accountId, clientId } = grant
    const more = { connection: id, client_id: clientId, ...detail }
    return auditEntry({ at, actor, accountId, action, detail: more })
  }
}
