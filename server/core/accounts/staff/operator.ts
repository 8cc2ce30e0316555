import { type Actor, type AuditAction, type AuditEntry, type AuditTrail, auditEntry } from '../../audit'
import type { PriceName } from '../../catalog/operation'
import { modelPriceName, type PriceOverride, type PriceStore } from '../../catalog/prices'
import type { Clock } from '../../clock'
import type { EventPublisher } from '../../events/live-events'
import { type Failure, failure } from '../../failure'
import { type AccountId, makeId, type RequestId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { ChargeRefundRefusal, Ledger } from '../../ledger/ledger'
import type { Limits } from '../../limits/tier'
import { formatUsd, type Money, ZERO } from '../../money'
import { err, ok, type Result } from '../../result'
import { type Account, type StaffRole, staffRole } from '../account'
import type { AccountStore } from '../store'

interface OperatorParts {
  readonly accounts: AccountStore
  readonly prices: PriceStore
  readonly ledger: Ledger
  readonly clock: Clock
  readonly events: EventPublisher
  readonly audit: AuditTrail
  /** Whether another account is operator and not closed. */
  readonly hasOperatorBeside: (account: AccountId) => Promise<boolean>
}

/** The operator's commands (spec D4, D5). When a promise resolves, the change is durable and in the audit log. */
export class Operator {
  private readonly parts: OperatorParts
  private readonly trail: AuditTrail
  private readonly mutex = new KeyedMutex()
  private readonly roles = new KeyedMutex()

  constructor(parts: OperatorParts) {
    this.parts = parts
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
      const account = await this.parts.accounts.byId(id)
      if (!account) return err(noAccount(id))
      if (account.closedAt !== null) return err(CLOSED)
      // A balance beyond 2^53 could be written but not read back, and the next start would fail.
      const balance = await this.parts.ledger.balance(id)
      if (!Number.isSafeInteger((balance?.posted ?? 0) + amount))
        return err(
          failure('invalid_parameter', 'The balance would exceed what the ledger can hold. Grant a smaller amount.'),
        )
      const granted = await this.parts.ledger.credit({
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
      if (!granted.ok) return err(notBooked('grant'))
      return ok(account)
    })
  }

  /** Takes money out of what is available. A `reference` is never booked twice. An entry corrects another; none is ever changed. */
  async debit(
    actor: Actor,
    id: AccountId,
    amount: Money,
    note: string,
    reference: string,
  ): Promise<Result<Account, Failure>> {
    const account = await this.parts.accounts.byId(id)
    if (!account) return err(noAccount(id))
    const booked = await this.parts.ledger.debit({
      account: id,
      amount,
      description: note,
      reference: `debit:${reference}`,
      audit: this.audit(actor, id, 'account.debit', { amount, note, reference }),
    })
    if (booked.ok) return ok(account)
    if (booked.error === 'already_booked')
      return err(failure('invalid_state', `A debit with reference ${reference} was already booked.`))
    if (booked.error !== 'insufficient') return err(notBooked('debit'))
    const available = formatUsd((await this.parts.ledger.balance(id))?.available ?? ZERO)
    return err(failure('invalid_state', `Only ${available} USD is available; the rest is held by calls in progress.`))
  }

  /** Gives back what a call was charged, all of it or `amount`; once per call. */
  async refundCharge(
    actor: Actor,
    { account: id, request, amount, note }: ChargeToRefund,
  ): Promise<Result<{ readonly account: Account; readonly refunded: Money }, Failure>> {
    const account = await this.parts.accounts.byId(id)
    if (!account) return err(noAccount(id))
    if (account.closedAt !== null) return err(CLOSED)
    const booked = await this.parts.ledger.refundCharge({
      account: id,
      request,
      amount,
      description: note,
      audit: this.audit(actor, id, 'account.charge_refund', { request, note }),
    })
    if (booked.ok) return ok({ account, refunded: booked.value })
    const message = CHARGE_REFUND_REFUSALS[booked.error]
    return err(message ? failure('invalid_state', message) : notBooked('refund'))
  }

  /** Gives an account custom limits (Enterprise); null removes them. */
  async setLimits(actor: Actor, id: AccountId, customLimits: Limits | null): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.limits', { customLimits }, (account) => ok({ ...account, customLimits }))
  }

  /** Sets how many live keys an account may have; null restores the default. Existing keys stay. */
  async setMaxKeys(actor: Actor, id: AccountId, maxKeys: number | null): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.keys', { mostKeys: maxKeys }, (account) => ok({ ...account, maxKeys }))
  }

  /** Makes an account an operator. */
  async appoint(actor: Actor, id: AccountId): Promise<Result<Account, Failure>> {
    return this.changeRole(actor, id, 'operator', 'account.operator', { operator: true })
  }

  /** Gives a role to an account, or takes it. The last operator keeps theirs. Runs one at a time, so that two cannot both leave. */
  setRole(actor: Actor, id: AccountId, role: StaffRole | null): Promise<Result<Account, Failure>> {
    return this.roles.take('roles', async () => {
      const previous = await this.parts.accounts.byId(id)
      const isClosed = previous !== null && previous.closedAt !== null
      if (isClosed && role) return err(CLOSED)
      const isLeaving = previous?.operator === true && !isClosed && role !== 'operator'
      if (isLeaving && !(await this.parts.hasOperatorBeside(id))) return err(LAST_OPERATOR)
      return this.changeRole(actor, id, role, 'account.role', { role })
    })
  }

  /** From the next request on, the account's keys, apps and sessions are refused with the reason. Its money stays. */
  async suspend(actor: Actor, id: AccountId, reason: string): Promise<Result<Account, Failure>> {
    const at = this.parts.clock.now()
    const suspended = await this.change(actor, id, 'account.suspend', { reason }, (account) =>
      staffRole(account)
        ? err(failure('invalid_state', 'Operators and support cannot be suspended. Take the role away first.'))
        : ok({ ...account, suspension: { at: account.suspension?.at ?? at, reason } }),
    )
    // Open pages of the owner end now instead of at their next request.
    if (suspended.ok) this.parts.events.publish(id, { type: 'session' })
    return suspended
  }

  /**
   * Marks an account as closed, for good: from then on nothing is made or served for it. The first step of `AccountClosing`. Idempotent.
   * `forfeited`: its balance.
   */
  close(actor: Actor, id: AccountId, forfeited: Money): Promise<Result<Account, Failure>> {
    const closedAt = this.parts.clock.now()
    return this.change(actor, id, 'account.close', { forfeited_micros_usd: forfeited }, (account) =>
      // The reason of a suspension may say who somebody is.
      ok({ ...account, closedAt, suspension: account.suspension && { ...account.suspension, reason: CLOSED.message } }),
    )
  }

  lift(actor: Actor, id: AccountId, reason: string): Promise<Result<Account, Failure>> {
    return this.change(actor, id, 'account.lift', { reason }, (account) =>
      account.suspension
        ? ok({ ...account, suspension: null })
        : err(failure('invalid_state', 'This account is not suspended.')),
    )
  }

  /** Sets the price of an operation, for one account or for all; null restores the default. Applies to the next call. */
  async setPrice(
    actor: Actor,
    operation: PriceName,
    accountId: AccountId | null,
    amount: Money | null,
  ): Promise<Result<PriceOverride, Failure>> {
    const at = this.parts.clock.now()
    const override: PriceOverride = { id: makeId('price', at), operation, accountId, amount, at }
    const before = { operation, amount: this.parts.prices.newest(operation, accountId)?.amount ?? null }
    await this.parts.prices.add(override, this.audit(actor, accountId, 'price.set', { operation, amount }, before))
    return ok(override)
  }

  /** What an account pays of the list price of a model, or of all: null ends it. */
  async setModelPrice(
    actor: Actor,
    accountId: AccountId,
    model: string,
    basisPoints: number | null,
  ): Promise<PriceOverride> {
    const at = this.parts.clock.now()
    const operation = modelPriceName(model)
    const override: PriceOverride = { id: makeId('price', at), operation, accountId, amount: null, basisPoints, at }
    const before = { operation, basisPoints: this.parts.prices.newest(operation, accountId)?.basisPoints ?? null }
    await this.parts.prices.add(override, this.audit(actor, accountId, 'price.set', { operation, basisPoints }, before))
    return override
  }

  /** Records an act that another part carried out, such as the end of sessions. */
  note(actor: Actor, id: AccountId, action: AuditAction, detail: Record<string, unknown> = {}): Promise<void> {
    return this.trail.write(this.audit(actor, id, action, detail))
  }

  /** Records an act on the books of the whole gateway, such as an export of them. */
  noteBooks(actor: Actor, action: AuditAction, detail: Record<string, unknown>): Promise<void> {
    return this.trail.write(this.audit(actor, null, action, detail))
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
    action: AuditAction,
    detail: Record<string, unknown>,
    next: (account: Account) => Result<Account, Failure>,
  ): Promise<Result<Account, Failure>> {
    return this.mutex.take(id, async () => {
      const account = await this.parts.accounts.byId(id)
      if (!account) return err(noAccount(id))
      if (account.closedAt !== null) return action === 'account.close' ? ok(account) : err(CLOSED)
      const changed = next(account)
      if (!changed.ok) return changed
      await this.parts.accounts.update(changed.value, this.audit(actor, id, action, detail, before(account, detail)))
      this.parts.events.publish(id, { type: 'tier' })
      return changed
    })
  }

  private changeRole(
    actor: Actor,
    id: AccountId,
    role: StaffRole | null,
    action: AuditAction,
    detail: Record<string, unknown>,
  ): Promise<Result<Account, Failure>> {
    return this.mutex.take(id, async () => {
      const account = await this.parts.accounts.byId(id)
      if (!account) return err(noAccount(id))
      if (account.suspension && role)
        return err(failure('invalid_state', 'This account is suspended. Lift the suspension first.'))
      const audit = this.audit(actor, id, action, detail, before(account, detail))
      const changed = await this.parts.accounts.setRole(account, role, audit)
      this.parts.events.publish(id, { type: 'tier' })
      return ok(changed)
    })
  }

  private audit(
    actor: Actor,
    accountId: AccountId | null,
    action: AuditAction,
    detail: Record<string, unknown>,
    before: Record<string, unknown> | null = null,
  ): AuditEntry {
    const at = this.parts.clock.now()
    return auditEntry({ at, actor, accountId, action, detail, before })
  }
}

const LAST_OPERATOR = failure(
  'invalid_state',
  'This is the only operator of this gateway. Make another account operator first.',
)
const CLOSED = failure('invalid_state', 'This account is closed for good.')

function noAccount(id: string): Failure {
  return failure('resource_not_found', `No such account: ${id.slice(0, 60)}.`)
}

/** The old values of the settings that a change names. */
function before(account: Account, detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { customLimits, maxKeys: mostKeys, suspension, operator } = account
  const old: Record<string, unknown> = {
    customLimits,
    mostKeys,
    operator,
    role: staffRole(account),
    reason: suspension?.reason ?? null,
  }
  return Object.fromEntries(Object.keys(detail).map((name) => [name, old[name] ?? null]))
}

interface ChargeToRefund {
  readonly account: AccountId
  readonly request: RequestId
  /** Null gives back all of it. */
  readonly amount: Money | null
  readonly note: string
}

const CHARGE_REFUND_REFUSALS: Readonly<Partial<Record<ChargeRefundRefusal, string>>> = {
  already_booked: 'This charge was already refunded. A charge is refunded once.',
  not_charged: 'This call was not charged, so there is nothing to refund.',
  more_than_charged: 'The refund is more than the call was charged.',
}

function notBooked(what: string): Failure {
  return failure(
    'service_unavailable',
    `The ${what} could not be saved. Try again with the same reference: it is never booked twice.`,
    { retryAfterSeconds: 1 },
  )
}
