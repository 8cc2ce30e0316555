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
import type { Id } from '../../routing/api-access'
import { type CommandResult, findAccount, OperatorCommands, type OperatorParts } from '../operator-commands'
import { command, operatorRoles } from '../operator-roles'
import type { OneOperatorAccount } from '../record'
import { type SocketCommand, socketCommand } from '../socket-command'
import {
  DebitCommand,
  DebitForm,
  type OneRefund,
  type Refund,
  RefundCommand,
  RefundForm,
  refundRecord,
} from './customer-record'

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

  async debit(actor: Actor, form: DebitCommand): CommandResult<OneOperatorAccount> {
    const account = await findAccount(this.parts, form.account)
    if (!account.ok) return account
    const { usd, note, reference = crypto.randomUUID() } = form
    const { operator } = this.parts
    const amount = readable(parseUsd(usd))
    const debited = await operator.debit(actor, account.value.id, amount, note.trim(), reference.trim())
    return debited.ok ? ok({ account: await this.orders.describe(debited.value) }) : debited
  }

  /** Refunds a card payment through its processor, or a charge. */
  async refund(actor: Actor, form: RefundCommand): CommandResult<OneRefund> {
    const account = await findAccount(this.parts, form.account)
    if (!account.ok) return account
    const { id } = account.value
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
      ...{ id: null, payment, amount_micros_usd: amount, note, reference: null },
      ...{ state: 'succeeded', processor_id: null, error: null, created_at: at, updated_at: at },
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
      ...command(operator(), DebitForm, (actor, form, { id }: Id) => money.debit(actor, { ...form, account: id })),
    )
    .post(
      '/refunds',
      ...command(operator(), RefundForm, (actor, form, { id }: Id) => money.refund(actor, { ...form, account: id })),
    )
}

export function moneySocketCommands(parts: CustomerMoneyParts, actor: Actor): Readonly<Record<string, SocketCommand>> {
  const money = new CustomerMoney(parts)
  return {
    debit: socketCommand(DebitCommand, (form) => money.debit(actor, form)),
    refund: socketCommand(RefundCommand, (form) => money.refund(actor, form)),
  }
}
