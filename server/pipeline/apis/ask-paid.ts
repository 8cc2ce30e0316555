import { decimalOf } from '../../core/apis/decimal'
import { chooseOffer, type PaymentOffer, paymentHeader, readChallenge } from '../../core/apis/payment-challenge'
import { chargeFor, maximumOf } from '../../core/apis/price'
import type { UpstreamPayment, UpstreamPayments, UpstreamWallet } from '../../core/apis/upstream-payment'
import type { Clock } from '../../core/clock'
import { type Money, micros, ZERO } from '../../core/money'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { OpenCall } from '../work'
import type { ApiSale } from './api-sale'
import { type ApiAnswer, type AskProblem, type Limits, outbound, unfetched, validateAnswer } from './ask-api'
import { NO_CREDENTIALS, type UpstreamRequest, upstreamRequest } from './upstream-request'

/** What pays upstreams. */
export interface PaidUpstreams {
  readonly wallet: UpstreamWallet
  readonly payments: UpstreamPayments
  readonly clock: Clock
}

interface PaidAnswer {
  readonly answer: ApiAnswer
  /** Zero for an answer that the upstream gave for free. */
  readonly paid: Money
}

/** A signature is valid this long after the time that the call has. */
const GRACE_SECONDS = 30

/**
 * Asks an upstream that is paid per request, and pays what it asks if the operator and the hold of the call allow it. Signing is paying: a
 * payment is written down before it is signed, once per request, and only its one signature is ever sent.
 */
export async function askPaid(
  fetch: OutboundFetch,
  paying: PaidUpstreams | null,
  sale: ApiSale,
  { authenticated, timeoutMs, shutdown: signal }: OpenCall,
): Promise<Result<PaidAnswer, AskProblem>> {
  if (!paying) return err({ kind: 'unavailable', reason: 'the gateway has no wallet', didNothing: true })
  const endsAt = performance.now() + timeoutMs
  const requestId = authenticated.incoming.id
  const { match, input, hops } = sale
  const written = await upstreamRequest(match, input, NO_CREDENTIALS, { requestId, hops })
  if (!written.ok) return err({ kind: 'error', reason: written.error, didNothing: true })
  const request = written.value
  const limits = (): Limits => ({ timeoutMs: Math.max(1, endsAt - performance.now()), signal })
  const probe = await fetch(outbound(request, limits()))
  if (!probe.ok) return err(unfetched(probe.error))
  if (probe.value.status !== 402) return paidFor(validateAnswer(match, probe.value, []), ZERO)
  const { headers, body } = probe.value
  const offer = offerIn(paying, sale, request, readChallenge(headers.get('payment-required'), body))
  if (!offer.ok) return err({ kind: 'unavailable', reason: offer.error, didNothing: true })
  const payment = paymentOf(paying, sale, offer.value, { requestId, leftMs: limits().timeoutMs })
  const opened = await paying.payments.open(payment, paying.wallet.terms)
  if (opened !== 'opened') {
    const reason = opened === 'cap' ? 'a daily maximum of the wallet is reached' : 'this request was paid for before'
    return err({ kind: 'unavailable', reason, didNothing: true })
  }
  const header = paymentHeader(offer.value, payment, await paying.wallet.sign(payment))
  return paidFor(await sendPaid(fetch, sale, request, header, limits), payment.cost)
}

function offerIn(
  { wallet: { terms } }: PaidUpstreams,
  { match, price, input }: ApiSale,
  { url }: UpstreamRequest,
  challenge: ReturnType<typeof readChallenge>,
) {
  const { auth } = match.api
  const maximum = maximumOf(price.price, input.numberOf)
  // Above the maximum the house would bear the rest.
  const priceOf = (cost: Money) => {
    const charge = chargeFor(price, decimalOf(cost), input.numberOf)
    if (!charge.ok) throw new Error('a paid upstream is priced by what was paid')
    return micros(charge.value.charged.cost + charge.value.overrun)
  }
  return chooseOffer(challenge, { terms, payees: auth.kind === '402' ? auth.payees : [], url, maximum, priceOf })
}

function paymentOf(
  { wallet: { terms, address }, clock }: PaidUpstreams,
  { match: { api, operation } }: ApiSale,
  { payee, amount, cost, lifeSeconds }: PaymentOffer,
  { requestId, leftMs }: { readonly requestId: UpstreamPayment['request']; readonly leftMs: number },
): UpstreamPayment {
  const signedAt = clock.now()
  const life = Math.min(lifeSeconds, Math.ceil(leftMs / 1000) + GRACE_SECONDS)
  return {
    ...{ request: requestId, operation: operation.name, api: api.name, payee, amount, cost, signedAt },
    ...{ chainId: terms.chainId, token: terms.token, payer: address },
    nonce: `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`,
    validBefore: Math.floor(signedAt / 1000) + life,
  }
}

/** A read whose connection broke is sent again with the same payment. A second 402 is never paid. */
async function sendPaid(
  fetch: OutboundFetch,
  { match }: ApiSale,
  request: UpstreamRequest,
  { name, value }: { readonly name: string; readonly value: string },
  limits: () => Limits,
): Promise<Result<ApiAnswer, AskProblem>> {
  const paid = { ...request, headers: { ...request.headers, [name]: value } }
  const isRead = match.operation.effect === 'read'
  for (let attempt = 1; ; attempt++) {
    const sent = await fetch(outbound(paid, limits()))
    if (!sent.ok) {
      const isBroken = sent.error.kind === 'unreachable' || sent.error.kind === 'cut'
      if (isBroken && isRead && attempt === 1) continue
      return err(unfetched(sent.error))
    }
    if (sent.value.status === 402)
      return err({ kind: 'unavailable', reason: 'it asked for a payment twice', didNothing: false })
    return validateAnswer(match, sent.value, [])
  }
}

function paidFor(asked: Result<ApiAnswer, AskProblem>, paid: Money): Result<PaidAnswer, AskProblem> {
  return asked.ok ? ok({ answer: asked.value, paid }) : asked
}
