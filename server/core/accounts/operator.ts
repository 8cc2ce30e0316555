import { type Actor, type AuditEntry, type AuditTrail, auditEntry } from '../audit'
import type { PriceName } from '../catalog/operation'
import type { PriceOverride, PriceStore } from '../catalog/prices'
import type { Clock } from '../clock'
import type { EventPublisher } from '../events/live-events'
import { type Failure, failure } from '../failure'
import { type AccountId, makeId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { Ledger } from '../ledger/ledger'
import type { Limits } from '../limits/tier'
import type { Money } from '../money'
import { err, ok, type Result } from '../result'
import type { Account } from './account'
import type { AccountStore } from './store'

/** The operator's commands (spec-answers 4, 5). When a promise resolves, the change is durable and in the audit log. */
export class Operator {
  private readonly accounts: AccountStore
  private readonly prices: PriceStore
  private readonly ledger: Ledger
  private readonly clock: Clock
  private readonly events: EventPublisher
  private readonly trail: AuditTrail
  private readonly mutex = new KeyedMutex()

  constructor(parts: {
    accounts: AccountStore
    prices: PriceStore
    ledger: Ledger
    clock: Clock
    events: EventPublisher
    audit: AuditTrail
  }) {
    this.accounts = parts.accounts
    this.prices = parts.prices
    this.ledger = parts.ledger
    this.clock = parts.clock
    this.events = parts.events
    this.trail = parts.audit
  }

  /** Adds credit. A `reference` is never booked twice. */
  grant(
    actor: Actor,
    id: AccountId,
    amount: Money,
    note: string,
    reference: string,
  ): Promise<Result<Account, Failure>> {
    return this.mutex.take(id, async () => {
      const account = await this.accounts.byId(id)
      if (!account) return err(noAccount(id))
      // A balance beyond 2^53 could be written but not read back, and the next start would fail.
      const balance = await this.ledger.balance(id)
      if (!Number.isSafeInteger((balance?.posted ?? 0) + amount))
        return err(
          failure('invalid_parameter', 'The balance would exceed what the ledger can hold. Grant a smaller amount.'),
        )
      const granted = await this.ledger.credit({
        account: id,
        part: 'credit',
        kind: 'grant',
        amount,
        description: note,
        reference: `grant:${reference}`,
        audit: this.audit(actor, id, 'account.grant', { amount, note, reference }),
      })
      if (!granted.ok && granted.error === 'already_booked')
        return err(failure('invalid_state', `A grant with reference ${reference} was already booked.`))
      if (!granted.ok)
        return err(
          failure(
            'service_unavailable',
            'The grant could not be saved. Try again with the same reference: it is never booked twice.',
          ),
        )
      return ok(account)
    })
  }

  /** Gives an account custom limits (Enterprise); null removes them. */
  async setLimits(actor: Actor, id: AccountId, customLimits: Limits | null): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.limits', { customLimits }, (account) => ({
      changed: { ...account, customLimits },
      before: { customLimits: account.customLimits },
    }))
  }

  /** Sets how many live keys an account may have; null restores the default. Existing keys stay. */
  async setMaxKeys(actor: Actor, id: AccountId, maxKeys: number | null): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.keys', { mostKeys: maxKeys }, (account) => ({
      changed: { ...account, maxKeys },
      before: { mostKeys: account.maxKeys },
    }))
  }

  /** Makes an account an operator. */
  async appoint(actor: Actor, id: AccountId): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.operator', { operator: true }, (account) => ({
      changed: { ...account, operator: true },
      before: { operator: account.operator },
    }))
  }

  /** Sets the price of an operation, for one account or for all; null restores the default. Applies to the next call. */
  async setPrice(
    actor: Actor,
    operation: PriceName,
    accountId: AccountId | null,
    amount: Money | null,
  ): Promise<Result<PriceOverride, Failure>> {
    if (accountId && !(await this.accounts.byId(accountId))) return err(noAccount(accountId))
    const at = this.clock.now()
    const override: PriceOverride = { id: makeId('price', at), operation, accountId, amount, at }
    const before = { operation, amount: this.prices.newest(operation, accountId)?.amount ?? null }
    await this.prices.add(override, this.audit(actor, accountId, 'price.set', { operation, amount }, before))
    return ok(override)
  }

  /** Records that an operator created a link to reset the owner's password. */
  noteResetLink(actor: Actor, id: AccountId): Promise<void> {
    return this.trail.write(this.audit(actor, id, 'account.reset_link', {}))
  }

  /** Records that an operator removed the owner's second factors. */
  noteSecondFactorReset(actor: Actor, id: AccountId): Promise<void> {
    return this.trail.write(this.audit(actor, id, 'account.second_factor_reset', {}))
  }

  private change(
    actor: Actor,
    id: AccountId,
    action: string,
    detail: Record<string, unknown>,
    next: (account: Account) => { readonly changed: Account; readonly before: Record<string, unknown> },
  ): Promise<Result<Account, Failure>> {
    return this.mutex.take(id, async () => {
      const account = await this.accounts.byId(id)
      if (!account) return err(noAccount(id))
      const { changed, before } = next(account)
      await this.accounts.update(changed, this.audit(actor, id, action, detail, before))
      this.events.publish(id, { type: 'tier' })
      return ok(changed)
    })
  }

  private audit(
    actor: Actor,
    accountId: AccountId | null,
    action: string,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): AuditEntry {
    const at = this.clock.now()
    return auditEntry({ at, actor, accountId, action, detail, before })
  }
}

function noAccount(id: string): Failure {
  return failure('resource_not_found', `No such account: ${id.slice(0, 60)}.`)
}
