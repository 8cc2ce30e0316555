import { chooseOffer, type PaymentOffer } from '../../core/apis/payments/payment-challenge'
import type {
  AskedPayment,
  PaidHeader,
  UpstreamPayment,
  UpstreamPayments,
  UpstreamWallet,
} from '../../core/apis/payments/upstream-payment'
import { readX402, readX402Receipt } from '../../core/apis/payments/x402-challenge'
import { decimalOf } from '../../core/apis/prices/decimal'
import { apiCharge, maximumOf } from '../../core/apis/prices/price'
import type { Clock } from '../../core/clock'
import type { AccountId } from '../../core/ids'
import { type Money, micros, ZERO } from '../../core/money'
import type { OutboundAnswer, OutboundFetch } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result, reasonOf } from '../../core/result'
import type { OpenCall } from '../work'
import type { ApiSale } from './api-sale'
import { type AnswerDeadline, type ApiAnswer, type AskProblem, outbound, unfetched, validateAnswer } from './ask-api'
import { NO_CREDENTIALS, type UpstreamRequest, upstreamRequest, writtenBody } from './upstream-request'

export interface PaidUpstreams {
  readonly wallet: UpstreamWallet
  readonly payments: UpstreamPayments
  readonly clock: Clock
}

interface PaidAnswer {
  readonly answer: ApiAnswer
  /** Zero for an answer that the upstream gave for free. */
  readonly paid: Money
  /** Null if nothing was paid. */
  readonly payment: OpenPayment | null
}

/** A payment whose answer came. One of the two is noted. */
export interface OpenPayment {
  sold(): Promise<void>
  /** It was not worth its price. */
  unanswered(): Promise<void>
}

/** Not paid with less of the call's time left: an upstream could keep its challenge back until no answer can come in time. */
const MIN_TIME_LEFT = 0.25
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
  const { caller, incoming } = authenticated
  if (caller.kind === 'anonymous') throw new Error('an upstream is paid for accounts only')
  const requestId = incoming.id
  const { match, input, hops } = sale
  const written = upstreamRequest(match, input, input.body && (await writtenBody(input.body)), NO_CREDENTIALS, {
    requestId,
    hops,
    traceparent: incoming.trace?.handedOn ?? null,
  })
  if (!written.ok) return err({ kind: 'error', reason: written.error, didNothing: true })
  const request = written.value
  const limits = (): AnswerDeadline => ({ timeoutMs: Math.max(1, endsAt - performance.now()), signal })
  const probe = await fetch(outbound(request, limits()))
  if (!probe.ok) return err(unfetched(probe.error))
  if (probe.value.status !== 402) {
    const free = validateAnswer(match, probe.value, [])
    return free.ok ? ok({ answer: free.value, paid: ZERO, payment: null }) : free
  }
  const signed = await signOffer(paying, sale, request, {
    asked: askedIn(paying.wallet, probe.value),
    requestId,
    account: caller.account.id,
    limits,
    minLeftMs: timeoutMs * MIN_TIME_LEFT,
  })
  if (!signed.ok) return err({ kind: 'unavailable', reason: signed.error, didNothing: true })
  const { payments, clock, wallet } = paying
  const unanswered = () => payments.unanswered(requestId, clock.now())
  const sent = await sendPaid(fetch, sale, request, signed.value.header, limits)
  if (!sent.ok) {
    await unanswered()
    return sent
  }
  const { answer, receipt } = sent.value
  const sold = () => payments.answered(requestId, clock.now(), receiptIn(wallet, receipt))
  return ok({ answer, paid: signed.value.payment.cost, payment: { sold, unanswered } })
}

/** The demands of a 402, by all protocols. */
function askedIn(wallet: UpstreamWallet, { headers, body }: OutboundAnswer): readonly AskedPayment[] {
  const scheme = headers.get('www-authenticate')
  return [...readX402(headers.get('payment-required'), body), ...(scheme === null ? [] : wallet.readScheme(scheme))]
}

function receiptIn(wallet: UpstreamWallet, headers: Headers): string | null {
  const [scheme, x402] = [
    headers.get('payment-receipt'),
    headers.get('payment-response') ?? headers.get('x-payment-response'),
  ]
  return (scheme && wallet.readReceipt(scheme)) ?? (x402 && readX402Receipt(x402)) ?? null
}

interface Signed {
  readonly payment: UpstreamPayment
  readonly header: PaidHeader
}

/** Chooses an offer, writes its payment down and signs it, or says why not. Nothing is signed before everything was checked. */
async function signOffer(
  paying: PaidUpstreams,
  sale: ApiSale,
  { url }: UpstreamRequest,
  {
    asked,
    requestId,
    account,
    limits,
    minLeftMs,
  }: {
    readonly asked: readonly AskedPayment[]
    readonly requestId: UpstreamPayment['request']
    readonly account: AccountId
    readonly limits: () => AnswerDeadline
    readonly minLeftMs: number
  },
): Promise<Result<Signed, string>> {
  const { wallet, payments } = paying
  const { match, price, input } = sale
  const { auth } = match.api
  // Above the maximum the house would bear the rest.
  const priceOf = (cost: Money) => {
    const charge = apiCharge(price, decimalOf(cost), input.numberOf)
    if (!charge.ok) throw new Error('a paid upstream is priced by what was paid')
    return micros(charge.value.charged.cost + charge.value.overrun)
  }
  const offer = chooseOffer(asked, {
    tokens: wallet.tokens,
    payees: auth.kind === '402' ? auth.payees : [],
    url,
    maximum: maximumOf(price.price, input.numberOf),
    priceOf,
  })
  if (!offer.ok) return offer
  const trouble = await wallet.trouble(offer.value.token, offer.value.amount)
  if (trouble !== null) return err(trouble)
  const { timeoutMs, signal } = limits()
  if (signal.aborted || timeoutMs < minLeftMs) return err('too little time was left for an answer')
  const payment = paymentOf(paying, sale, offer.value, { requestId, account, leftMs: timeoutMs })
  const opened = await payments.open(payment, wallet.maxima, match.api.updatedAt)
  if (opened === 'cap') return err('a daily maximum of the wallet is reached')
  if (opened === 'unanswered')
    return err('payments without an answer may still be cashed; it is paid again when the chain shows their fate')
  if (opened === 'account_unanswered')
    return err(
      'too many payments for this account brought no answer; it is paid again when they expire unused, or the API is changed',
    )
  if (opened === 'twice') return err('this request or this challenge was paid for before')
  try {
    return ok({ payment, header: await offer.value.asked.header(payment, wallet) })
  } catch (error) {
    // Nothing was sent. The payment counts until it is seen unused: what a signer has done is not known.
    return err(`the payment could not be signed: ${reasonOf(error)}`)
  }
}

function paymentOf(
  { wallet: { address }, clock }: PaidUpstreams,
  { match: { api, operation } }: ApiSale,
  { asked, token, payee, amount, cost, fee, lifeSeconds }: PaymentOffer,
  {
    requestId,
    account,
    leftMs,
  }: { readonly requestId: UpstreamPayment['request']; readonly account: AccountId; readonly leftMs: number },
): UpstreamPayment {
  const signedAt = clock.now()
  const life = Math.min(lifeSeconds, Math.ceil(leftMs / 1000) + GRACE_SECONDS)
  return {
    request: requestId,
    account,
    operation: operation.name,
    api: api.name,
    payee,
    amount,
    cost,
    fee,
    signedAt,
    chainId: token.chainId,
    token: token.address,
    payer: address,
    nonce: asked.nonce ?? `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`,
    validBefore: Math.floor(signedAt / 1000) + life,
  }
}

/** A read whose connection broke is sent again with the same payment. A second 402 is never paid. */
async function sendPaid(
  fetch: OutboundFetch,
  { match }: ApiSale,
  request: UpstreamRequest,
  { name, value, secrets }: PaidHeader,
  limits: () => AnswerDeadline,
): Promise<Result<{ readonly answer: ApiAnswer; readonly receipt: Headers }, AskProblem>> {
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
    // An echo of the payment would let its reader get the answer for it at the upstream.
    const answer = validateAnswer(match, sent.value, secrets)
    return answer.ok ? ok({ answer: answer.value, receipt: sent.value.headers }) : answer
  }
}
