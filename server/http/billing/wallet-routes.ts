import { accepted } from '../../core/accounts/submitted'
import { parseTopUp, type TopUpRequest, type TopUps } from '../../core/accounts/top-ups'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { formatUsd } from '../../core/money'
import { type Offer, refusalOffers, type ShownPayment } from '../../core/payments/method'
import type { Payments } from '../../core/payments/payments'
import { mayOfferAgain } from '../../core/payments/refusal'
import { err, ok, type Result } from '../../core/result'
import type { AuthenticatedCall } from '../../pipeline/call'
import { KEY_REFUSALS } from '../keys/key-failures'
import { x402In } from '../middleware/caller/credential'
import { readJson } from '../middleware/input/json-body'
import { readable, validateBody } from '../middleware/input/validate-body'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { PAYMENT_FAILURES } from '../openapi/body-failures'
import { documented, type EndpointDocs, requestBody } from '../openapi/documented'
import { paidInEndpoint, served } from '../routing/endpoint'
import { NewWalletTopUp, PaidTopUp, topUpRecord } from './record'

const WALLET_DOCS = {
  topUp: {
    id: 'walletTopUp',
    tag: 'Usage',
    summary: 'Top up with a payment challenge',
    description:
      'For agents with a wallet. Without a payment it returns 402 with a challenge for the amount. Send the credential in `Payment-Authorization` together with the key, or alone in `Authorization: Payment`; send an x402 payment in `PAYMENT-SIGNATURE` (version 1: `X-PAYMENT`) together with the key. Repeating the request with the same credential returns the same top-up and charges nothing more. The first top-up moves the account to Starter.',
    body: requestBody('The amount.', NewWalletTopUp, { ten: { amount: '10.00' } }),
    answers: {
      201: { description: 'Paid and added to the balance. `Payment-Receipt` is the proof.', schema: PaidTopUp },
      200: { description: 'Already paid by an earlier request with the same credential.', schema: PaidTopUp },
    },
    failures: [
      'missing_api_key',
      ...KEY_REFUSALS,
      'invalid_parameter',
      'json_parse_error',
      'request_timeout',
      'payload_too_large',
      'unsupported_media_type',
      ...PAYMENT_FAILURES,
      'payment_in_progress',
      'answer_not_kept',
      'payment_pending',
      'payment_network_unavailable',
      'rate_limit_exceeded',
      'internal_error',
      'service_unavailable',
    ],
  },
} as const satisfies Readonly<Record<string, EndpointDocs>>

interface WalletParts {
  readonly payments: Payments
  readonly topUps: TopUps
  readonly ledger: Ledger
}

const TOP_UP = paidInEndpoint('wallet-topup', 'wallet:topup')

/** Tops up the balance with a payment challenge, for agents with a wallet and no card (spec 3). */
export function walletRoutes({ payments, topUps, ledger }: WalletParts) {
  return routeGroup({ name: 'wallet' }).post(
    '/v1/wallet/topups',
    ...served(TOP_UP, documented(WALLET_DOCS.topUp), async ({ context }) => {
      const { request, reply } = context
      const amount = await amountOf(context)
      if (!amount.ok) return reply.refuse(amount.error)
      const shown = shownPayment(context.authenticated, request.headers)
      const account = await accountOf(context, { payments, ledger }, shown)
      if (!account.ok) return reply.refuse(account.error)
      const { id, clientRequestId, credential } = context.authenticated.incoming
      const besideKey = credential.kind !== 'payment'
      const topUp: TopUpRequest = {
        account: account.value,
        amount: amount.value,
        requestId: id,
        clientRequestId,
        besideKey,
      }
      const challenged = async (problem: Failure) =>
        reply.refuse(withOffers(problem, await topUps.offers(payments, topUp)))
      if (!shown)
        return challenged(
          failure(
            'payment_required',
            `Pay ${formatUsd(amount.value)} USD to top up: answer the payment challenge in WWW-Authenticate.`,
          ),
        )
      const paid = await topUps.pay(payments, topUp, shown)
      if (!paid.ok) {
        const problem = failure(paid.error.code, paid.error.reason, { retryAfterSeconds: 2 })
        return mayOfferAgain(paid.error)
          ? challenged(failure(paid.error.code, paid.error.reason))
          : reply.refuse(problem)
      }
      const balance = await ledger.balance(account.value)
      const body: PaidTopUp = { topup: topUpRecord(paid.value.claim), balance_micros_usd: balance?.posted ?? null }
      return reply.free(
        body,
        { 'cache-control': 'private', ...paid.value.receipt?.headers },
        paid.value.receipt ? 201 : 200,
      )
    }),
  )
}

async function amountOf(context: GatedContext) {
  const body = await readJson(context)
  const sent = body.ok ? accepted(validateBody(NewWalletTopUp, body.value)) : body
  return sent.ok ? ok(readable(parseTopUp(sent.value.amount))) : sent
}

/** With a key, the credential has its own header (x402 always has); without a key, it is the `Authorization`. */
function shownPayment({ incoming }: AuthenticatedCall, headers: Headers): ShownPayment | null {
  if (incoming.credential.kind === 'payment') return incoming.credential.shown
  const text = /^payment +(\S+) *$/i.exec(headers.get('payment-authorization') ?? '')?.[1]
  if (text) return { scheme: 'payment', text }
  return x402In(headers)
}

/** The account of the key or app; without either, the account in the challenge, which only the gateway can have signed. */
async function accountOf(
  { authenticated: { caller } }: GatedContext,
  { payments, ledger }: Pick<WalletParts, 'payments' | 'ledger'>,
  shown: ShownPayment | null,
): Promise<Result<AccountId, Failure>> {
  if (caller.kind !== 'anonymous') return ok(caller.account.id)
  const named = shown ? await payments.accountIn(shown) : null
  if (named === null)
    return err(
      failure(
        'missing_api_key',
        'Send an API key, so that the gateway knows which account to top up: Authorization: Bearer <API_KEY>.',
      ),
    )
  const account = named as AccountId // verified later by the signature of the challenge
  // Money for an account that does not exist could not be booked.
  if ((await ledger.balance(account)) === null)
    return err(failure('invalid_challenge', 'The challenge names an account that does not exist here.'))
  return ok(account)
}

function withOffers(problem: Failure, made: readonly Offer[]): Failure {
  const offers = refusalOffers(made)
  if (!offers) return { ...problem, message: `${problem.message} No payment method is available right now.` }
  return { ...problem, offers }
}
