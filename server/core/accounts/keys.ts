import { type Actor, type AuditAction, type AuditEntry, auditEntry, JoinedChanges } from '../audit'
import { isImportedName } from '../catalog/operations'
import type { ParameterError } from '../catalog/parameters'
import type { Clock } from '../clock'
import { Allowlist } from '../credentials/allowlist'
import { type ApiKey, KEY_DEFAULTS, type KeySettings, keyState } from '../credentials/api-key'
import { type KeyLists, keysAmong } from '../credentials/key-lists'
import { newSecret } from '../credentials/secret'
import type { CredentialStore } from '../credentials/store'
import type { EventPublisher } from '../events/live-events'
import { type Failure, failure } from '../failure'
import { type AccountId, type KeyId, makeId, type PoolId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { HoldStore } from '../ledger/hold'
import { poolBudget, scopeBudget } from '../ledger/pool-budget'
import { limitsOf, type TierFacts, tierOf } from '../limits/tier'
import type { ModelBuyer } from '../models/model'
import { err, ok, type Result } from '../result'
import { ACCOUNT_CLOSED } from './account'
import type { AppGrant, AppGrantStore } from './app-grant'
import { brokenKeyRules, type KeyForm, type NewKeyForm } from './key-form'
import {
  endpointsAt,
  type ListedNames,
  limitReached,
  nameTaken,
  settingsIn,
  stateBefore,
  stateRefusal,
} from './key-rules'
import { type MemberStore, NO_LONGER_MEMBER, roleIn } from './members'
import type { PoolBudgets } from './pool-budgets'
import { type ActingMember, onlyOf } from './roles'
import type { AccountStore } from './store'
import { accepted, invalidParameter, type Submitted } from './submitted'

export const DEFAULT_GRACE_SECONDS = 86_400
export const MAX_GRACE_SECONDS = 2_592_000

export const NO_SUCH_KEY = failure('resource_not_found', 'This key does not exist.')
const NOT_OF_APP = failure(
  'insufficient_permissions',
  'An app can change only keys that it created. It can read and disable this one.',
)

/** The owner who makes a change: account, tier, and the actor for the audit log. */
export interface KeyOwner {
  readonly accountId: AccountId
  /** Absent for operators and the system: a key that they make is the workspace's. */
  readonly member?: ActingMember
  readonly tier: TierFacts
  readonly actor: Actor
  /** The app that acts on the owner's behalf. */
  readonly app?: AppGrant
}

type Outcome<T = ApiKey> = Promise<Result<T, Failure>>

interface KeysParts {
  readonly accounts: Pick<AccountStore, 'byId'>
  readonly members: Pick<MemberStore, 'of'>
  readonly poolBudgets: Pick<PoolBudgets, 'memberPool' | 'spendings'>
  readonly apps: Pick<AppGrantStore, 'byId'>
  readonly credentials: CredentialStore
  readonly holds: HoldStore
  readonly clock: Clock
  readonly events: EventPublisher
  readonly isOnSale: (operation: string) => boolean
  readonly isModel: (id: string, buyer: ModelBuyer) => boolean
}

/**
 * Manages an owner's API keys (spec 2.1, 5.4, spec D3). When a promise resolves, the change is durable and applies to the
 * next request. Changes of one account run one at a time. Keys of other accounts are reported as not found, never as forbidden.
 *
 * An app changes only keys that it made, and disables any (spec D10). The pool of a key that it made has the app's pool as its
 * parent, so the app's spending limit is also that of its keys.
 */
export class Keys {
  private readonly parts: KeysParts
  private readonly mutex = new KeyedMutex()
  private readonly changes = new JoinedChanges()

  /** `isOnSale`: whether an imported operation can be called now. `isModel`: whether a model exists for the account. */
  constructor(parts: KeysParts) {
    this.parts = parts
  }

  /** Creates a key and returns it with its secret, which cannot be retrieved later. Refused once the account is closing. */
  create(owner: KeyOwner, sent: Submitted<NewKeyForm>): Outcome<{ key: ApiKey; secret: string }> {
    return this.mutex.take(owner.accountId, async () => {
      const now = this.parts.clock.now()
      const parsed = this.accepted(owner, sent, now)
      if (!parsed.ok) return parsed
      const form = parsed.value
      const settings: KeySettings = { ...KEY_DEFAULTS, ...settingsIn(form), name: form.name }
      const live = await this.parts.credentials.liveKeys(owner.accountId, settings.name, now)
      const refusal =
        (await this.ended(owner)) ?? nameTaken(live, settings.name, null) ?? limitReached(live, owner.tier, 'own')
      if (refusal) return err(refusal)
      const { secret, ...shown } = newSecret()
      const parent = owner.app?.poolId ?? (await this.memberPool(owner))
      const poolId = makeId('pool', now)
      const key: ApiKey = {
        ...settings,
        ...shown,
        id: makeId('key', now),
        accountId: owner.accountId,
        poolId,
        createdAt: now,
        createdBy: owner.app?.id ?? null,
        disabledAt: null,
        revokedAt: null,
        stopsAt: null,
        replaces: null,
        replacedBy: null,
        endpointsAt: null,
        allowlist: Allowlist.of(settings.allowedIps),
      }
      const limit = form.spendingLimit ?? null
      const budgets = form.budgets ?? []
      await this.parts.holds.openPool({ id: poolId, account: owner.accountId, limit, parent })
      await this.parts.holds.setPoolBudgets(poolId, budgets.map(poolBudget), now, [])
      await this.parts.holds.setScopeBudget(poolId, scopeBudget(form.scopeBudget ?? null))
      const audit = this.audit(owner, key.id, 'key.create', { ...form })
      const pool = { limit, budgets, scopeBudget: form.scopeBudget ?? null, parentId: parent }
      await this.parts.credentials.create(key, pool, audit, owner.member?.userId)
      this.announce(key)
      return ok({ key, secret })
    })
  }

  change(owner: KeyOwner, id: string, sent: Submitted<KeyForm>): Outcome {
    return this.onKey(owner, id, async (key, now) => {
      const parsed = this.accepted(owner, sent, now, key)
      if (!parsed.ok) return parsed
      const form = parsed.value
      if (keyState(key, now) === 'revoked')
        return err(failure('invalid_state', 'This key was revoked and can no longer be changed.'))
      if (form.stopsAt !== undefined && key.stopsAt === null)
        return err(failure('invalid_state', 'Only a replaced key has a stops_at. Rotate the key first.'))
      if (form.name) {
        const live = await this.parts.credentials.liveKeys(owner.accountId, form.name, now)
        const taken = nameTaken(live, form.name, key)
        if (taken) return err(taken)
      }
      const changed: ApiKey = {
        ...key,
        ...settingsIn(form),
        ...(form.allowedIps && { allowlist: Allowlist.of(form.allowedIps) }),
        ...(form.allowedEndpoints && { endpointsAt: endpointsAt(key, form.allowedEndpoints, now) }),
        ...(form.stopsAt !== undefined && { stopsAt: Math.max(form.stopsAt, now) }),
      }
      const pool = {
        ...(form.spendingLimit !== undefined && { limit: form.spendingLimit }),
        ...(form.budgets && { budgets: form.budgets }),
        ...(form.scopeBudget !== undefined && { scopeBudget: form.scopeBudget }),
      }
      const entry = this.audit(owner, key.id, 'key.change', { ...form }, await this.before(key, form))
      const audit = this.changes.of(entry)
      // Read before the change, so that nothing can fail after it. The counters include what is spent in between.
      await this.parts.holds.load(key.accountId, key.poolId)
      const spendings = form.budgets ? await this.parts.poolBudgets.spendings(key.poolId, form.budgets, now) : []
      await this.parts.credentials.update({ key: changed, ...(Object.keys(pool).length > 0 && { pool }) }, audit)
      if (form.spendingLimit !== undefined) await this.parts.holds.setPoolLimit(key.poolId, form.spendingLimit)
      if (form.budgets) await this.parts.holds.setPoolBudgets(key.poolId, form.budgets.map(poolBudget), now, spendings)
      if (form.scopeBudget !== undefined)
        await this.parts.holds.setScopeBudget(key.poolId, scopeBudget(form.scopeBudget))
      this.announce(changed)
      return ok(changed)
    })
  }

  /** Creates a successor with the same spend pool. The old key works until its grace period ends (spec 5.4). */
  rotate(owner: KeyOwner, id: string, graceSeconds: number): Outcome<{ key: ApiKey; secret: string }> {
    return this.onKey(owner, id, async (key, now) => {
      if (keyState(key, now) === 'revoked')
        return err(failure('invalid_state', 'This key was revoked and cannot be rotated.'))
      if (key.replacedBy) return err(failure('invalid_state', `This key was already replaced by ${key.replacedBy}.`))
      const live = await this.parts.credentials.liveKeys(owner.accountId, null, now)
      const refusal = (await this.ended(owner)) ?? limitReached(live, owner.tier, 'replaced')
      if (refusal) return err(refusal)
      const { secret, ...shown } = newSecret()
      const expired = key.expiresAt !== null && key.expiresAt <= now
      const successor: ApiKey = {
        ...key,
        ...shown,
        id: makeId('key', now),
        createdAt: now,
        createdBy: owner.app?.id ?? null,
        endpointsAt: key.endpointsAt ?? (key.allowedEndpoints.length > 0 ? key.createdAt : null),
        disabledAt: null,
        expiresAt: expired ? null : key.expiresAt,
        replaces: key.id,
      }
      const replaced: ApiKey = { ...key, replacedBy: successor.id, stopsAt: now + graceSeconds * 1000 }
      const detail = { successor: successor.id, grace_period_seconds: graceSeconds }
      await this.parts.credentials.rotate(successor, replaced, this.audit(owner, key.id, 'key.rotate', detail))
      this.announce(replaced)
      this.announce(successor)
      return ok({ key: successor, secret })
    })
  }

  /** Idempotent. */
  disable(owner: KeyOwner, id: string): Outcome {
    // Also by an app that did not make the key: it can only stop it.
    const { app: _app, ...anyKey } = owner
    return this.changeState(anyKey, id, 'key.disable', (key, now) => ({ ...key, disabledAt: key.disabledAt ?? now }))
  }

  /**
   * Disables many keys in one commit, each with its own entry in the audit log. A key that cannot be disabled does not stop the
   * others. Idempotent.
   */
  disableMany(owner: KeyOwner, ids: readonly string[]): Promise<readonly { id: string; refusal: Failure | null }[]> {
    return this.mutex.take(owner.accountId, async () => {
      const now = this.parts.clock.now()
      const own = new Map<string, ApiKey>(
        (await this.lists(owner).byIds(owner.accountId, ids)).map((key) => [key.id, key]),
      )
      const named = [...new Set(ids)].map((id) => ({ id, key: own.get(id) ?? null }))
      const results = named.map(({ id, key }) => ({ id, key, refusal: key ? stateRefusal(key, now) : NO_SUCH_KEY }))
      const enabled = results.flatMap(({ key, refusal }) => (key && !refusal && key.disabledAt === null ? key : []))
      const audits = enabled.map((key) => this.audit(owner, key.id, 'key.disable', {}, stateBefore(key, now)))
      await this.parts.credentials.end(enabled, { disabledAt: now }, audits)
      for (const key of enabled) this.announce(key)
      return results.map(({ id, refusal }) => ({ id, refusal }))
    })
  }

  /** Idempotent. */
  enable(owner: KeyOwner, id: string): Outcome {
    return this.changeState(owner, id, 'key.enable', (key) => ({ ...key, disabledAt: null }))
  }

  /**
   * Revokes the keys of an account that match, in one commit. A key that is being created meanwhile is among them, or its creation sees what
   * was committed before this call. Returns how many were revoked. Idempotent.
   */
  revokeAll(owner: Pick<KeyOwner, 'accountId' | 'actor'>, matches: (key: ApiKey) => boolean): Promise<number> {
    return this.mutex.take(owner.accountId, async () => {
      const now = this.parts.clock.now()
      const live: ApiKey[] = []
      for await (const key of keysAmong(this.parts.credentials.lists, owner.accountId, 'live', now))
        if (matches(key)) live.push(key)
      const audits = live.map((key) => this.audit(owner, key.id, 'key.revoke', {}, stateBefore(key, now)))
      await this.parts.credentials.end(live, { revokedAt: now }, audits)
      for (const key of live) this.announce(key)
      return live.length
    })
  }

  /** Permanent. Idempotent. */
  revoke(owner: KeyOwner, id: string): Outcome {
    return this.onKey(owner, id, async (key, now) => {
      if (key.revokedAt !== null) return ok(key)
      return ok(await this.put(owner, { ...key, revokedAt: now }, 'key.revoke', stateBefore(key, now)))
    })
  }

  private lists({ member }: KeyOwner): KeyLists {
    return this.parts.credentials.lists.seenBy(onlyOf(member))
  }

  /** Runs alone among the changes of the account's keys. */
  inTurn<T>(account: AccountId, act: () => Promise<T>): Promise<T> {
    return this.mutex.take(account, act)
  }

  private async memberPool({ accountId, member }: KeyOwner): Promise<PoolId | null> {
    return member ? this.parts.poolBudgets.memberPool(accountId, member.userId) : null
  }

  /** Why no key is made: since the request began, the account was closed, the member left or the app was disconnected. Null if none. */
  private async ended({ accountId, app, member }: KeyOwner): Promise<Failure | null> {
    const account = await this.parts.accounts.byId(accountId)
    if (account?.closedAt != null) return ACCOUNT_CLOSED
    if (member && roleIn(await this.parts.members.of(member.userId), accountId) === null) return NO_LONGER_MEMBER
    const grant = app && (await this.parts.apps.byId(app.id))
    return grant?.disconnectedAt == null ? null : failure('invalid_token', 'This app was disconnected.')
  }

  /** A key that the caller sees, revoked or not. */
  async find({ accountId, member }: Pick<KeyOwner, 'accountId' | 'member'>, id: string): Promise<ApiKey | null> {
    const only = onlyOf(member)
    const key = await this.parts.credentials.byId(id as KeyId) // safe for any text: an unknown id finds nothing
    if (key?.accountId !== accountId) return null
    if (only === null) return key
    return (await this.parts.credentials.makersOf(accountId, [key.id])).get(key.id) === only ? key : null
  }

  private changeState(
    owner: KeyOwner,
    id: string,
    action: AuditAction,
    next: (key: ApiKey, now: number) => ApiKey,
  ): Outcome {
    return this.onKey(owner, id, async (key, now) => {
      const refusal = stateRefusal(key, now)
      if (refusal) return err(refusal)
      const changed = next(key, now)
      if (changed.disabledAt === key.disabledAt) return ok(key)
      return ok(await this.put(owner, changed, action, stateBefore(key, now)))
    })
  }

  private async put(
    owner: KeyOwner,
    key: ApiKey,
    action: AuditAction,
    before: Record<string, unknown>,
  ): Promise<ApiKey> {
    await this.parts.credentials.update({ key }, this.audit(owner, key.id, action, {}, before))
    this.announce(key)
    return key
  }

  private announce({ id, accountId }: ApiKey): void {
    this.parts.events.publish(accountId, { type: 'key', id })
  }

  private onKey<T>(owner: KeyOwner, id: string, change: (key: ApiKey, now: number) => Outcome<T>): Outcome<T> {
    return this.mutex.take(owner.accountId, async () => {
      const key = await this.find(owner, id)
      if (!key) return err(NO_SUCH_KEY)
      return owner.app && key.createdBy !== owner.app.id ? err(NOT_OF_APP) : change(key, this.parts.clock.now())
    })
  }

  private accepted<T extends KeyForm>(
    owner: KeyOwner,
    sent: Submitted<T>,
    now: number,
    before: ListedNames = KEY_DEFAULTS,
  ): Result<T, Failure> {
    return accepted(sent, [
      ...brokenKeyRules(sent.form, now, limitsOf(owner.tier)),
      ...this.unknownNames(owner, sent.form, before),
    ])
  }

  /** Names that a key may not list because nothing has them. Those that it listed before may stay. */
  private unknownNames(
    { accountId, tier }: Pick<KeyOwner, 'accountId' | 'tier'>,
    {
      allowedEndpoints = [],
      allowedModels = [],
      pinnedOperations = [],
    }: { readonly [N in keyof ListedNames]?: ListedNames[N] | undefined },
    before: ListedNames,
  ): ParameterError[] {
    const operation = allowedEndpoints.find(
      (name) => isImportedName(name) && !before.allowedEndpoints.includes(name) && !this.parts.isOnSale(name),
    )
    const pinned = pinnedOperations.find(
      (name) => !before.pinnedOperations.includes(name) && !this.parts.isOnSale(name),
    )
    const buyer = { account: { id: accountId }, tier: tierOf(tier) }
    const model = allowedModels.find((id) => !before.allowedModels.includes(id) && !this.parts.isModel(id, buyer))
    const notOnSale = 'names an operation that is not on sale. GET /v1/catalog lists those that are'
    const noModel = 'names a model that does not exist. GET /v1/models lists those that do'
    return [
      ...(operation === undefined ? [] : [invalidParameter('allowed_endpoints', notOnSale, operation)]),
      ...(pinned === undefined ? [] : [invalidParameter('pinned_operations', notOnSale, pinned)]),
      ...(model === undefined ? [] : [invalidParameter('allowed_models', noModel, model)]),
    ]
  }

  private audit(
    owner: Pick<KeyOwner, 'accountId' | 'actor'>,
    keyId: KeyId,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): AuditEntry {
    const at = this.parts.clock.now()
    return auditEntry({ at, actor: owner.actor, accountId: owner.accountId, keyId, action, detail, before })
  }

  /** The current values of the settings that a form changes. */
  private async before(key: ApiKey, form: KeyForm): Promise<Record<string, unknown>> {
    const { spendingLimit, budgets, scopeBudget: ofScope } = form
    const settings = Object.keys(settingsIn(form)) as (keyof KeySettings)[]
    return {
      ...Object.fromEntries(settings.map((name) => [name, key[name]])),
      ...(spendingLimit !== undefined && {
        spendingLimit: (await this.parts.holds.pool(key.poolId, this.parts.clock.now()))?.limit ?? null,
      }),
      ...(budgets && { budgets: await this.parts.credentials.budgetsOf(key.poolId) }),
      ...(ofScope !== undefined && { scopeBudget: await this.parts.credentials.scopeBudgetOf(key.poolId) }),
      ...(form.stopsAt !== undefined && { stopsAt: key.stopsAt }),
    }
  }
}
