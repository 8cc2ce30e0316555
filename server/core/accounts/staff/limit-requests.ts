import { type Actor, type AuditAction, type AuditEntry, auditEntry } from '../../audit'
import type { Clock } from '../../clock'
import type { EventPublisher } from '../../events/live-events'
import { type Failure, failure } from '../../failure'
import { type AccountId, type LimitRequestId, makeId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { Ledger } from '../../ledger/ledger'
import { type Limits, limitsOf, tierOf } from '../../limits/tier'
import { ZERO } from '../../money'
import { err, ok, type Result } from '../../result'
import type { Account } from '../account'
import type { KeyOwner } from '../keys'
import type { AccountStore } from '../store'
import { accepted, type Submitted } from '../submitted'
import {
  brokenLimitRequestRules,
  type LimitRequest,
  type LimitRequestForm,
  type LimitRequestStore,
} from './limit-request'

type Outcome = Promise<Result<LimitRequest, Failure>>

interface LimitRequestsParts {
  readonly store: LimitRequestStore
  readonly accounts: AccountStore
  readonly ledger: Ledger
  readonly clock: Clock
  readonly events: EventPublisher
}

/**
 * Requests for higher limits, from the owner's form to the operator's decision (spec 8, spec D4). An account has at most one
 * open request. An approval and the changed account are one commit and apply to the next request.
 */
export class LimitRequests {
  private readonly parts: LimitRequestsParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: LimitRequestsParts) {
    this.parts = parts
  }

  async open(owner: KeyOwner, sent: Submitted<LimitRequestForm>): Outcome {
    const form = accepted(sent, brokenLimitRequestRules(sent.form, limitsOf(owner.tier)))
    if (!form.ok) return form
    const at = this.parts.clock.now()
    const request: LimitRequest = {
      ...form.value,
      id: makeId('lim', at),
      accountId: owner.accountId,
      at,
      status: 'pending',
      reason: null,
      decidedAt: null,
    }
    const { peakRpm, peakTpm } = request
    const audit = this.audit(owner.actor, owner.accountId, 'limits.request', { id: request.id, peakRpm, peakTpm })
    if (await this.parts.store.open(request, audit)) return ok(request)
    return err(
      failure('invalid_state', 'You already have a pending request. Wait for its decision before you send another.'),
    )
  }

  list(
    filter: { accountId: AccountId | null; status: LimitRequest['status'] | null },
    limit: number,
    after: LimitRequestId | null,
  ): Promise<readonly LimitRequest[]> {
    return this.parts.store.list(filter, limit, after)
  }

  /** Moves the account to Growth, or gives it custom `limits` (Enterprise). */
  approve(actor: Actor, id: string, reason: string | null, limits: Limits | null): Outcome {
    return this.decide(actor, id, 'approved', reason, async (account) => {
      if (limits) return ok({ ...account, customLimits: limits })
      const balance = await this.parts.ledger.balance(account.id)
      const tier = tierOf({ ...account, toppedUp: balance?.toppedUp ?? ZERO })
      if (tier === 'growth' || tier === 'enterprise')
        return err(failure('invalid_state', `The account is already ${tier}. Name the limits that it should have.`))
      return ok({ ...account, growthApproved: true })
    })
  }

  /** The owner sees the reason. */
  decline(actor: Actor, id: string, reason: string): Outcome {
    return this.decide(actor, id, 'declined', reason, async () => ok(null))
  }

  private decide(
    actor: Actor,
    id: string,
    status: 'approved' | 'declined',
    reason: string | null,
    change: (account: Account) => Promise<Result<Account | null, Failure>>,
  ): Outcome {
    return this.mutex.take(id, async () => {
      const request = await this.parts.store.byId(id as LimitRequestId) // safe for any text: an unknown id finds nothing
      const account = request && (await this.parts.accounts.byId(request.accountId))
      if (!request || !account) return err(failure('resource_not_found', 'This request does not exist.'))
      if (request.status !== 'pending')
        return err(failure('invalid_state', `This request was already ${request.status}.`))
      const changed = await change(account)
      if (!changed.ok) return changed
      const decided: LimitRequest = { ...request, status, reason, decidedAt: this.parts.clock.now() }
      const customLimits = changed.value?.customLimits ?? null
      const detail = { id, reason, ...(customLimits && { customLimits }) }
      await this.parts.store.decide(decided, changed.value, this.audit(actor, account.id, `limits.${status}`, detail))
      this.parts.events.publish(account.id, { type: 'tier' })
      return ok(decided)
    })
  }

  private audit(actor: Actor, accountId: AccountId, action: AuditAction, detail: Record<string, unknown>): AuditEntry {
    const at = this.parts.clock.now()
    return auditEntry({ at, actor, accountId, action, detail })
  }
}
