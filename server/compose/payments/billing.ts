import type { Config } from '../../config'
import type { CardRefundStore } from '../../core/accounts/cards/card-refund'
import { type OtherBooks, Reconciliation, type ReconciliationStore } from '../../core/accounts/cards/reconciliation'
import type { Operator } from '../../core/accounts/staff/operator'
import type { Clock } from '../../core/clock'
import type { Opening } from '../../core/cluster/opening'
import type { IdempotencyRecords } from '../../core/idempotency/idempotency-record'
import type { AccountId } from '../../core/ids'
import type { Accounting } from '../../core/ledger/accounting'
import type { Ledger } from '../../core/ledger/ledger'
import type { LedgerCheck } from '../../core/ledger/ledger-check'
import type { RevenueReports } from '../../core/ledger/revenue'
import type { Limiter } from '../../core/limits/limiter'
import type { UnknownCheckoutStore } from '../../core/payments/card-checkout'
import type { ClaimStore } from '../../core/payments/claim'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { startCardComparisons } from '../../jobs/card-comparisons'
import { startCardRefunds } from '../../jobs/card-refunds'
import { startIdempotencyPruning } from '../../jobs/idempotency-pruning'
import { startReceiptChecks } from '../../jobs/receipt-checks'
import { startReconciliations } from '../../jobs/reconciliations'
import { startTopUpChecks } from '../../jobs/top-up-checks'
import type { Log } from '../../log'
import { balanceFunding } from '../../pipeline/funding/balance'
import { offering, paymentFunding } from '../../pipeline/funding/payment'
import { paymentRequired } from '../../pipeline/funding/payment-required'
import { Idempotency } from '../../pipeline/idempotency/idempotency'
import type { Relay } from './networks'
import { composePayments } from './payments'
import { composeTopUps } from './top-ups'

interface Beside {
  readonly isElsewhere: (account: AccountId) => Promise<boolean>
  /** For the gateway of `main`. */
  readonly books: OtherBooks | null
  /** For any other: how it asks the relayer of `main`. */
  readonly askMain: Relay['askMain']
}

interface Parts {
  readonly stores: {
    readonly paymentClaims: ClaimStore
    readonly idempotencyRecords: IdempotencyRecords
    readonly cardRefunds: CardRefundStore
    readonly unknownCheckouts: UnknownCheckoutStore
    readonly ledgerCheck: LedgerCheck
    readonly reconciliations: ReconciliationStore
    readonly accounting: Accounting
    readonly revenue: RevenueReports
  }
  readonly ledger: Ledger
  readonly operator: Operator
  readonly limiter: Limiter
  readonly clock: Clock
  readonly log: Log
  readonly telemetry: Telemetry
  /** How much of what a stranger may do is this gateway's to allow. */
  readonly brakeShareOf: (max: number) => number
  /** Then this gateway compares with the chain and the processor only if it can ask the others, `beside`. */
  readonly hasOtherCells: boolean
  /** Whether an account is in another cell, and the books of the others; nothing if there is one cell. */
  readonly beside?: Beside | undefined
  /** Where there are many nodes: whether this one may still send from the relayer's account. */
  readonly maySend?: Relay['maySend']
  readonly opening: Opening
}

/** Everything about incoming money: payments for single requests, top-ups, and idempotency. */
export async function composeBilling(config: Config, parts: Parts) {
  const { stores, ledger, operator, limiter, clock, log, telemetry, brakeShareOf, hasOtherCells, beside, maySend } =
    parts
  const { opening } = parts
  const { paymentClaims: claims, idempotencyRecords: records } = stores
  const { topUps, cards } = composeTopUps(config, {
    ...{ claims, refunds: stores.cardRefunds, unknown: stores.unknownCheckouts, ledger, clock, log },
    isElsewhere: beside?.isElsewhere,
  })
  const rail = composePayments(config, {
    ...{ claims, clock, log, topUps, cards: cards?.topUps ?? null, telemetry, brakeShareOf },
    relay: { askMain: beside?.askMain, maySend },
  })
  const reconciliation = new Reconciliation({
    ...{ operator, ledgerCheck: stores.ledgerCheck, cards, methods: rail.lasting, claims, clock },
    ...{ store: stores.reconciliations, others: beside?.books },
    onTrouble: (what, reason) => log.error(what, { reason }),
  })
  const pruning = opening.job(() => startIdempotencyPruning(records, clock, log))
  const networkJobs = [
    opening.job(() => startReceiptChecks({ methods: rail.lasting, claims, clock }, log)),
    ...(hasOtherCells && !beside?.books ? [] : [opening.job(() => startReconciliations(reconciliation, clock, log))]),
    opening.job(() => startTopUpChecks({ methods: rail.lasting, claims, clock }, topUps, log)),
    ...(cards
      ? [
          opening.job(() => startCardComparisons(cards.topUps, log, !hasOtherCells || beside !== undefined)),
          opening.job(() => startCardRefunds(cards.refunds, log)),
        ]
      : []),
  ]
  // Ends the claims that a previous process was working on.
  await opening.whenOwned(() => rail.payments.recover())
  const { payments } = rail
  return {
    /** For `main` and tests. */
    moneyIn: { rail, topUps, cards: cards?.topUps ?? null, cardRefunds: cards?.refunds ?? null },
    auth: { paymentAttemptsPerMinute: config.payments.attemptsPerMinute },
    /** For the routes of wallets and owners. */
    routes: {
      ...{ cardRefunds: cards?.refunds ?? null, refundStore: stores.cardRefunds },
      ...{
        reconciliation,
        unknownCheckouts: stores.unknownCheckouts,
        accounting: stores.accounting,
        revenue: stores.revenue,
      },
      ...{ claims, topUps, cards, payments, sandboxTopUps: config.payments.sandboxTopUps },
      // A facilitator settles fixed prices only.
      upToFrom: config.payments.evm?.relayerKey ? config.payments.evm.minAmount : null,
    },
    /** The payer: the key's balance, a per-request payment, or none, which results in a 402 with offers. */
    funding: {
      balance: offering(balanceFunding(ledger), payments),
      payment: paymentFunding(payments, limiter),
      none: offering(paymentRequired, payments),
    },
    idempotency: new Idempotency(records, clock, ledger),
    async close() {
      // A slow network must not delay shutdown. Unfinished jobs continue after the next start.
      for (const job of networkJobs) void job.close()
      await Promise.all([pruning.close(), rail.close()])
    },
  }
}
