import { limitSubject } from '../../core/credentials/address'
import { type Failure, type FailureCode, failure } from '../../core/failure'
import { keepable } from '../../core/idempotency/idempotency-record'
import type { Limiter } from '../../core/limits/limiter'
import { formatUsd, type Money, ZERO } from '../../core/money'
import { refusalOffers } from '../../core/payments/method'
import type { Payment } from '../../core/payments/payment'
import type { Payments, Purchase } from '../../core/payments/payments'
import { mayOfferAgain, type PaymentRefusal } from '../../core/payments/refusal'
import { err, ok, type Result } from '../../core/result'
import { isUnavailable } from '../../core/unavailable'
import type { AuthenticatedCall, Quote } from '../call'
import { type ChargeState, chargeProblem } from '../chargeable'
import type { Captured, Charge, StoredAnswer, Work } from '../work'

/** The facts of a work that funding needs. */
export type Priced = Pick<Work, 'operation' | 'quote' | 'credit' | 'timeoutMs' | 'fingerprint'>

/** Pays for calls that draw on no balance, by a payment of their own (spec 5.3), and offers such a payment to those that could make one. */
export interface Funding {
  /**
   * Claims the payment of a call before its upstream is called, or returns the 402 that explains what to pay. A reservation ends with exactly one
   * capture or release.
   */
  reserve(work: Priced, authenticated: AuthenticatedCall): Promise<Result<Reservation, Failure>>
  /** The failure, with payment challenges if it is a lack of money that one payment for this call would cure. */
  offered(problem: Failure, work: Priced, authenticated: AuthenticatedCall): Promise<Failure>
}

const RETRY_AFTER_SECONDS = {
  payment_in_progress: 1,
  payment_pending: 2,
  payment_network_unavailable: 2,
  service_unavailable: 2,
} as const

/**
 * Pays for one call with a payment of its own (spec 5.3): the credential is validated and claimed before the upstream is called,
 * and settled when the answer has arrived. If the upstream fails, no money moves and the credential stays usable.
 */
export class PaymentFunding implements Funding {
  private readonly payments: Payments
  private readonly limiter: Pick<Limiter, 'giveBack'>
  private readonly charges: ChargeState

  constructor(payments: Payments, limiter: Pick<Limiter, 'giveBack'>, charges: ChargeState) {
    this.payments = payments
    this.limiter = limiter
    this.charges = charges
  }

  async reserve(work: Priced, authenticated: AuthenticatedCall): Promise<Result<Reservation, Failure>> {
    const { credential, at } = authenticated.incoming
    const unable = await chargeProblem(this.charges)
    if (unable) return err(unable)
    if (credential.kind !== 'payment') return err(await this.offered(paymentRequired(work.quote), work, authenticated))
    const what = purchaseOf(work, authenticated)
    const begun = await this.payments.begin(what, credential.shown)
    if (!begun.ok) return err(await refused(this.payments, what, begun.error))
    // A settled payment does not count in the window of its address (spec D9). An attempt that did not settle does.
    const onPaid = () => this.limiter.giveBack(authenticated.subjects, at)
    return ok(reservation(this.payments, what, begun.value, onPaid))
  }

  /** Offers payments for a payable operation, both to callers without a credential and to keys that cannot pay. */
  async offered(problem: Failure, work: Priced, authenticated: AuthenticatedCall): Promise<Failure> {
    const { route } = authenticated.incoming
    const { fixed, minCost } = work.quote
    // Other failures must not offer a payment.
    const isPayable = route.kind === 'priced' && route.payable === true && (fixed || minCost !== undefined)
    if (!isPayable || !LACKS_MONEY.has(problem.code)) return problem
    return withOffers(this.payments, purchaseOf(work, authenticated), problem)
  }
}

/** The refusals that a payment of its own would cure. */
const LACKS_MONEY: ReadonlySet<FailureCode> = new Set([
  'payment_required',
  'insufficient_api_key_balance',
  'insufficient_balance',
])

/** The description in a `Payment` challenge (spec 2.4). */
const DESCRIPTION = 'Send an API key, or pay for this one request by answering this payment challenge.'

function purchaseOf(priced: Priced, { incoming }: AuthenticatedCall): Purchase {
  const { quote, operation, timeoutMs } = priced
  return {
    purpose: 'call',
    operation,
    amount: quote.maxCost,
    ...(!quote.fixed && quote.minCost !== undefined && { least: quote.minCost }),
    description: DESCRIPTION,
    fingerprint: priced.fingerprint(),
    requestId: incoming.id,
    clientRequestId: incoming.clientRequestId,
    account: null,
    resource: incoming.request,
    addressGroup: limitSubject(incoming.address),
    workMs: timeoutMs,
  }
}

/** One charge of a payment. */
interface PaymentCapture extends Pick<Charge, 'upstreamCost'> {
  readonly amount: Money
  readonly delivery: Exclude<StoredAnswer, 'cut'> & { isGone(): boolean }
}

/** The payment of one call. */
export type Reservation = ReturnType<typeof reservation>

function reservation(payments: Payments, what: Purchase, payment: Payment, onPaid: () => void) {
  return {
    /** An answer that arrives after this time (ms) cannot be paid for. */
    deadline: payment.deadline,
    /** The answer of an earlier attempt that was paid for but not delivered. It is returned without another upstream call. */
    undeliveredAnswer: payment.undeliveredAnswer,
    /** The money was already taken, so a failure leaves an answer owed. */
    isPaid: payment.isPaid,
    /** Charges at most what was reserved. The charge is durable when it resolves to a success; otherwise nothing is charged. */
    async capture({ amount, delivery, upstreamCost }: PaymentCapture): Promise<Result<Captured, Failure>> {
      // An answer kept for the payer is sent again as JSON.
      const isJsonAnswer = (delivery.headers['content-type'] ?? 'application/json').startsWith('application/json')
      const answer = isJsonAnswer ? keepable(delivery.body) : null
      try {
        // A free answer needs no payment, which stays good.
        if (amount === ZERO && !payment.isPaid) {
          await payment.release('it cost nothing')
          return ok({ cost: ZERO, receipt: null })
        }
        const settled = await payment.settle(answer, payment.isPaid ? undefined : amount)
        if (!settled.ok) return err(await refused(payments, what, settled.error))
        onPaid()
        const given = await payment.give({ answer, isGone: delivery.isGone, upstreamCost })
        return given.ok
          ? ok({ cost: given.value.amount, receipt: given.value })
          : err(await refused(payments, what, given.error))
      } catch (error) {
        if (!isUnavailable(error)) throw error
        // The gateway's database failed while the payment was in flight: never say "not charged", and never offer another payment.
        return err(
          failure(
            'payment_pending',
            'The payment could not be recorded. Send the request again with the same credential; do not pay a second time.',
            {
              retryAfterSeconds: RETRY_AFTER_SECONDS.payment_pending,
            },
          ),
        )
      }
    },
    /** Ends the reservation without a charge. May be called repeatedly, and does nothing after a capture. */
    release: () => payment.release('no answer'),
  }
}

async function refused(payments: Payments, what: Purchase, refusal: PaymentRefusal): Promise<Failure> {
  const { code, reason } = refusal
  if (!mayOfferAgain(refusal))
    return failure(code, reason, { retryAfterSeconds: RETRY_AFTER_SECONDS[code as keyof typeof RETRY_AFTER_SECONDS] })
  return withOffers(payments, what, failure(code, reason, what.least === undefined ? { price: what.amount } : {}))
}

/** Free operations get no offers, and none are made while no payment method is usable. */
async function withOffers(payments: Payments, what: Purchase, problem: Failure): Promise<Failure> {
  const offers = what.amount === ZERO ? null : refusalOffers(await payments.offers(what))
  if (!offers) return problem
  const message =
    problem.code === 'payment_required'
      ? `This request costs ${what.least === undefined ? '' : 'at most '}${formatUsd(what.amount)} USD. ${DESCRIPTION}`
      : problem.message
  return { ...problem, message, offers }
}

/** Names the price to a caller without a credential. */
function paymentRequired({ maxCost, fixed }: Quote): Failure {
  return failure(
    'payment_required',
    `This request costs ${fixed ? '' : 'at most '}${formatUsd(maxCost)} USD. Send an API key (Authorization: Bearer <API_KEY>) that draws on a prepaid balance.`,
    fixed ? { price: maxCost } : {},
  )
}
