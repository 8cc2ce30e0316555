import {
  MAX_ACCOUNTS_UNANSWERED,
  type UpstreamPayment,
  type UpstreamPayments,
  type UpstreamWallet,
  type WalletToken,
} from '../core/apis/payments/upstream-payment'
import { type Clock, DAY_MS } from '../core/clock'
import { makeId } from '../core/ids'
import { appended, type Journal } from '../core/ledger/journal'
import { reasonOf } from '../core/result'
import { type Job, startJob } from './job'

const EVERY_MS = 30_000
/** How long a payment whose fate is known is kept: longer than any report, and than a loss counts against a caller. */
const KEPT_MS = 100 * DAY_MS

export interface UpstreamPaymentChecks {
  readonly payments: UpstreamPayments
  readonly wallet: UpstreamWallet
  readonly journal: Pick<Journal, 'append'>
  readonly clock: Clock
  /** When an API was changed last; null if it is gone. Losses before that do not count. */
  readonly changedAt: (api: string) => number | null
  readonly disable: (api: string) => Promise<void>
  readonly onTrouble: (what: string, reason: string) => void
}

/**
 * Finds out, after it expired, whether each payment that brought no answer was cashed. A cashed payment is booked to the house; one that was not
 * no longer counts towards the daily maximum. A payment of another wallet counts until that wallet is configured again.
 */
export function startUpstreamPaymentChecks(checks: UpstreamPaymentChecks, everyMs = EVERY_MS): Job {
  return startJob((signal) => check(checks, signal), {
    everyMs,
    firstMs: 0,
    onError: (error) => checks.onTrouble('payments to upstreams were not checked', reasonOf(error)),
  })
}

/** Token by token: a node that does not answer delays the payments of its own chain only. */
async function check(checks: UpstreamPaymentChecks, signal: AbortSignal): Promise<void> {
  const checked = await Promise.allSettled(checks.wallet.tokens.map((token) => checkToken(checks, token, signal)))
  for (const [i, one] of checked.entries())
    if (one.status === 'rejected') {
      const chain = checks.wallet.tokens[i]?.chainId
      checks.onTrouble(`payments to upstreams on chain ${chain} were not checked`, String(one.reason))
    }
  await checks.payments.prune(checks.clock.now() - KEPT_MS)
}

async function checkToken(checks: UpstreamPaymentChecks, token: WalletToken, signal: AbortSignal): Promise<void> {
  const { payments, wallet, clock } = checks
  for (const payment of await payments.expired(clock.now(), wallet.address, token)) {
    if (signal.aborted) return
    const cashed = await wallet.wasCashed(payment)
    if (cashed === false) await payments.end(payment.request, 'unused', clock.now())
    if (cashed !== true) continue
    // The process may have died, or the database failed, between the charge and the note of it.
    if (await payments.wasCharged(payment.request)) await payments.answered(payment.request, clock.now(), null)
    else await lose(checks, payment)
  }
}

async function lose({ payments, journal, clock, ...checks }: UpstreamPaymentChecks, payment: UpstreamPayment) {
  const { request, operation, api, cost, nonce } = payment
  const booked = await appended(journal, {
    entries: [
      {
        transaction: makeId('txn', clock.now()),
        kind: 'overrun',
        accountId: null,
        debit: 'house/overrun',
        credit: 'house/revenue',
        amount: cost,
        // The call was never charged, and after a crash it has no row.
        at: clock.now(),
        requestId: null,
        description: `${operation}, paid to its upstream without an answer: ${request}`,
        reference: `upstream payment ${nonce}`,
      },
    ],
  })
  const isKnown = booked.kind === 'refused' && booked.constraint === 'reference'
  if (booked.kind !== 'committed' && !isKnown) throw new Error('a lost payment could not be booked')
  await payments.end(request, 'cashed', clock.now())
  checks.onTrouble(`api ${api}`, `its upstream cashed a payment and gave no answer: ${operation}, ${request}`)
  const since = checks.changedAt(api)
  if (since !== null && (await payments.losers(api, since)) >= MAX_ACCOUNTS_UNANSWERED) await checks.disable(api)
}
