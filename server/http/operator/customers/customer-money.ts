import type { Account } from '../../../core/accounts/account'
import type { CardRefunds } from '../../../core/accounts/cards/card-refunds'
import type { Actor } from '../../../core/audit'
import { isoTime } from '../../../core/clock'
import { failure } from '../../../core/failure'
import type { PaymentId, RequestId } from '../../../core/ids'
import { parseUsd } from '../../../core/money'
import type { ClaimStore } from '../../../core/payments/claim'
import { err, ok } from '../../../core/result'
import type { UsageReports } from '../../../core/usage/reports'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { readable } from '../../middleware/input/validate-body'
import { routeGroup } from '../../middleware/request-context'
import { OperatorCommands, type OperatorParts } from '../operator-commands'
import { accountCommand, type CommandResult, operatorRoles } from '../operator-roles'
import type { OneOperatorAccount } from '../record'
import { DebitForm, type OneRefund, type Refund, RefundForm, refundRecord } from './customer-record'

export interface CustomerMoneyParts extends OperatorParts {
  readonly claims: ClaimStore
  /** Null if no card processor is configured. */
  readonly cardRefunds: CardRefunds | null
  readonly reports: UsageReports
  readonly now: () => number
}

/** Money operations of operators for one customer. Entries correct others and never change. */
class CustomerMoney {
  private readonly parts: CustomerMoneyParts
  private readonly orders: OperatorCommands

  constructor(parts: CustomerMoneyParts) {
    this.parts = parts
    this.orders = new OperatorCommands(parts)
  }

  async debit(actor: Actor, { id }: Account, form: DebitForm): CommandResult<OneOperatorAccount> {
    const { usd, note, reference = crypto.randomUUID() } = form
    const { operator } = this.parts
    const amount = readable(parseUsd(usd))
    const debited = await operator.debit(actor, id, amount, note.trim(), reference.trim())
    return debited.ok ? ok({ account: await this.orders.describe(debited.value) }) : debited
  }

  /** Refunds a card payment through its processor, or a charge. */
  async refund(actor: Actor, { id }: Account, form: RefundForm): CommandResult<OneRefund> {
    const amount = form.usd === undefined ? null : readable(parseUsd(form.usd))
    const note = form.note.trim()
    if (form.payment.startsWith('req_')) {
      const request = form.payment as RequestId // an id that does not exist was not charged
      const refunded = await this.parts.operator.refundCharge(actor, { account: id, request, amount, note })
      if (refunded.ok) return ok({ refund: this.chargeRefund(request, refunded.value.refunded, note) })
      const archive = await this.parts.reports.archiveOfCall(request)
      return archive === null
        ? refunded
        : err(failure('resource_not_found', `Calls of that month are in the archive ${archive}: grant the amount.`))
    }
    const claim = await this.parts.claims.byId(form.payment as PaymentId) // as above
    if (claim?.account !== id)
      return err(failure('resource_not_found', `This account has no payment or call ${form.payment.slice(0, 60)}.`))
    const { cardRefunds } = this.parts
    if (!cardRefunds) return err(failure('invalid_state', 'No card processor is configured.'))
    const { reference = crypto.randomUUID() } = form
    const refund = await cardRefunds.refund(actor, { payment: claim.id, amount, reason: note, reference })
    return refund.ok ? ok({ refund: refundRecord(refund.value) }) : refund
  }

  private chargeRefund(payment: RequestId, amount: number, note: string): Refund {
    const at = isoTime(this.parts.now())
    return {
      id: null,
      payment,
      amount_micros_usd: amount,
      note,
      reference: null,
      state: 'succeeded',
      processor_id: null,
      error: null,
      created_at: at,
      updated_at: at,
    }
  }
}

/** Routes for operators only: support moves no money. */
export function customerMoneyRoutes(parts: CustomerMoneyParts & { readonly owners: OwnerSessions }) {
  const money = new CustomerMoney(parts)
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-customer-money', prefix: '/api/operator/accounts/:id' })
    .post(
      '/debits',
      ...accountCommand(parts, operator(), DebitForm, (actor, account, form) => money.debit(actor, account, form)),
    )
    .post(
      '/refunds',
      ...accountCommand(parts, operator(), RefundForm, (actor, account, form) => money.refund(actor, account, form)),
    )
}
