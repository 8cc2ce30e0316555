import { limitSubject } from '../../core/credentials/address'
import { type Failure, failure } from '../../core/failure'
import { keepable } from '../../core/idempotency/idempotency-record'
import type { Limiter } from '../../core/limits/limiter'
import { formatUsd, ZERO } from '../../core/money'
import type { Payment } from '../../core/payments/payment'
import type { Payments, Purchase } from '../../core/payments/payments'
import { mayOfferAgain, type PaymentRefusal } from '../../core/payments/refusal'
import { err, ok, type Result } from '../../core/result'
import { isUnavailable } from '../../core/unavailable'
import type { AuthenticatedCall } from '../call'
import type { Captured } from '../work'
import type { Funding, Priced, Reservation } from './funding'

const RETRY_AFTER_SECONDS = { payment_in_progress: 1, payment_pending: 2, payment_network_unavailable: 2 } as const

/**
 * Pays for one call by itself (spec 5.3): the credential is validated and claimed before the upstream is called, and settled when
 * the answer is there. An upstream that fails moves no money and leaves the credential good.
 */
export function paymentFunding(payments: Payments, limiter: Limiter): Funding {
  return {
    async reserve(work, authenticated) {
      const { credential } = authenticated.incoming
      if (credential.kind !== 'payment') throw new Error('only a payment pays for one call')
      const what = purchaseOf(work, authenticated)
      const begun = await payments.begin(what, credential.shown)
      if (!begun.ok) return err(await refused(payments, what, begun.error))
      // What paid is not held to the window of its address (spec-answers 9); what only could pay is.
      const onPaid = () => limiter.giveBack(authenticated.subjects, authenticated.incoming.at)
      return ok(reservation(payments, what, begun.value, onPaid))
    },
  }
}

/** Puts the challenges beside each 402 of what may be paid for by itself: to whoever sent nothing, and to a key that cannot pay. */
export function offering(funding: Funding, payments: Payments): Funding {
  return {
    async reserve(work, authenticated) {
      const reserved = await funding.reserve(work, authenticated)
      const { route } = authenticated.incoming
      // Every failure of reserving names a price when it is a 402; what is of another kind is no invitation to pay.
      if (reserved.ok || reserved.error.price === undefined) return reserved
      if (route.kind !== 'priced' || !route.payable) return reserved
      return err(await withOffers(payments, purchaseOf(work, authenticated), reserved.error))
    },
  }
}

/** What the `Payment` scheme says of a purchase beside its price (spec 2.4). */
const DESCRIPTION = 'Send an API key, or pay for this one request by answering this payment challenge.'

function purchaseOf({ quote, operation, timeoutMs, fingerprint }: Priced, { incoming }: AuthenticatedCall): Purchase {
  return {
    purpose: 'call',
    operation,
    amount: quote.most,
    description: DESCRIPTION,
    fingerprint: fingerprint(),
    requestId: incoming.id,
    clientRequestId: incoming.clientRequestId,
    account: null,
    resource: incoming.request,
    addressGroup: limitSubject(incoming.address),
    workMs: timeoutMs,
  }
}

function reservation(payments: Payments, what: Purchase, payment: Payment, onPaid: () => Promise<void>): Reservation {
  return {
    deadline: payment.deadline,
    keptAnswer: payment.keptAnswer,
    isPaid: payment.isPaid,
    async capture({ amount, delivery }): Promise<Result<Captured, Failure>> {
      if (amount !== what.amount) throw new Error('a payment is for the whole of a fixed price')
      if (!delivery) throw new Error('a payment buys an answer')
      const answer = keepable(delivery.body)
      try {
        const settled = await payment.settle(answer)
        if (!settled.ok) return err(await refused(payments, what, settled.error))
        await onPaid()
        const given = await payment.give({ answer, isGone: delivery.isGone })
        return given.ok ? ok({ cost: amount, receipt: given.value }) : err(await refused(payments, what, given.error))
      } catch (error) {
        if (!isUnavailable(error)) throw error
        // Our own database failed with the money under way: never "not charged", and never an invitation to pay again.
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
    release: (reason = 'no answer') => payment.release(reason),
  }
}

async function refused(payments: Payments, what: Purchase, refusal: PaymentRefusal): Promise<Failure> {
  const { code, reason } = refusal
  if (!mayOfferAgain(refusal))
    return failure(code, reason, { retryAfterSeconds: RETRY_AFTER_SECONDS[code as keyof typeof RETRY_AFTER_SECONDS] })
  return withOffers(payments, what, failure(code, reason, { price: what.amount }))
}

/** Nothing is offered for what is free, or while no payment method can be used. */
async function withOffers(payments: Payments, what: Purchase, problem: Failure): Promise<Failure> {
  const offers = what.amount === ZERO ? [] : await payments.offers(what)
  const [first] = offers
  if (!first) return problem
  const message =
    problem.code === 'payment_required'
      ? `This request costs ${formatUsd(what.amount)} USD. ${DESCRIPTION}`
      : problem.message
  return {
    ...problem,
    message,
    offers: {
      challengeId: first.challengeId,
      challenges: offers.map(({ challenge }) => challenge),
      headers: Object.assign({}, ...offers.map(({ more }) => more)),
    },
  }
}
