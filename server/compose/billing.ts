import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { IdempotencyRecords } from '../core/idempotency/idempotency-record'
import type { Ledger } from '../core/ledger/ledger'
import type { Limiter } from '../core/limits/limiter'
import type { ClaimStore } from '../core/payments/claim'
import { startCardComparisons } from '../jobs/card-comparisons'
import { startReceiptChecks } from '../jobs/receipt-checks'
import { startTopUpChecks } from '../jobs/top-up-checks'
import type { Log } from '../log'
import { balanceFunding } from '../pipeline/funding/balance'
import { offering, paymentFunding } from '../pipeline/funding/payment'
import { unpaid } from '../pipeline/funding/unpaid'
import { composeIdempotency } from './idempotency'
import { composePayments } from './payments'
import { composeTopUps } from './top-ups'

interface Parts {
  readonly stores: { readonly paymentClaims: ClaimStore; readonly keptAnswers: IdempotencyRecords }
  readonly ledger: Ledger
  readonly limiter: Limiter
  readonly clock: Clock
  readonly log: Log
}

/** How money comes in: for one request, into the balance, and never twice for the same. */
export async function composeBilling(config: Config, { stores, ledger, limiter, clock, log }: Parts) {
  const { paymentClaims: claims, keptAnswers: kept } = stores
  const { topUps, cards } = composeTopUps(config, { claims, ledger, clock, log })
  const rail = composePayments(config, { claims, clock, log, topUps, cards: cards?.topUps ?? null })
  const { idempotency, close } = composeIdempotency(kept, clock, log)
  const checks = startReceiptChecks({ methods: rail.lasting, claims, clock }, log)
  const topUpChecks = startTopUpChecks({ methods: rail.lasting, claims, clock }, topUps, log)
  const comparisons = cards && startCardComparisons(cards.topUps, log)
  // Whoever worked on a payment before this process is gone.
  await rail.payments.recover()
  const { payments } = rail
  return {
    /** What main and tests work with. */
    moneyIn: { rail, topUps, cards: cards?.topUps ?? null },
    auth: { paymentAttemptsPerMinute: config.payments.attemptsPerMinute },
    /** What the routes of wallets and owners need. */
    routes: { claims, topUps, cards, payments, sandboxTopUps: config.payments.sandboxTopUps },
    /** Who pays: the balance of a key, one payment for one call, or nobody, who is then told how to. */
    funding: {
      balance: offering(balanceFunding(ledger), payments),
      payment: paymentFunding(payments, limiter),
      none: offering(unpaid, payments),
    },
    idempotency,
    async close() {
      close()
      checks.close()
      topUpChecks.close()
      comparisons?.close()
      await rail.close()
    },
  }
}
