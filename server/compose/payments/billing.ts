import type { Config } from '../../config'
import type { CardRefundStore } from '../../core/accounts/cards/card-refund'
import { Reconciliation, type ReconciliationStore } from '../../core/accounts/cards/reconciliation'
import type { Operator } from '../../core/accounts/staff/operator'
import type { Clock } from '../../core/clock'
import type { IdempotencyRecords } from '../../core/idempotency/idempotency-record'
import type { Accounting } from '../../core/ledger/accounting'
import type { Ledger } from '../../core/ledger/ledger'
import type { LedgerCheck } from '../../core/ledger/ledger-check'
import type { RevenueReports } from '../../core/ledger/revenue'
import type { Limiter } from '../../core/limits/limiter'
import type { UnknownCheckoutStore } from '../../core/payments/card-checkout'
import type { ClaimStore } from '../../core/payments/claim'
import type { Telemetry } from '../../core/telemetry/telemetry'
import {
  startCardComparisons,
  startCardRefunds,
  startReceiptChecks,
  startReconciliations,
  startTopUpChecks,
  type TakenOverCopy,
} from '../../jobs/money-checks'
import { startIdempotencyPruning } from '../../jobs/retention'
import type { Log } from '../../log'
import type { ChargeState } from '../../pipeline/chargeable'
import { PaymentFunding } from '../../pipeline/funding/payment'
import { Idempotency } from '../../pipeline/idempotency/idempotency'
import { composePayments } from './payments'
import { composeTopUps } from './top-ups'

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
  readonly charges: ChargeState
  readonly operator: Operator
  readonly limiter: Limiter
  readonly clock: Clock
  readonly log: Log
  readonly telemetry: Telemetry
  readonly takenOver: TakenOverCopy | null
}

/** Everything about incoming money: payments for single requests, top-ups, and idempotency. */
export async function composeBilling(config: Config, parts: Parts) {
  const { stores, ledger, charges, operator, limiter, clock, log, telemetry } = parts
  const { paymentClaims: claims, idempotencyRecords: records } = stores
  const { topUps, cards } = composeTopUps(config, {
    claims,
    refunds: stores.cardRefunds,
    unknown: stores.unknownCheckouts,
    ledger,
    clock,
    log,
  })
  const rail = composePayments(config, { claims, clock, log, topUps, cards: cards?.topUps ?? null, telemetry })
  const reconciliation = new Reconciliation({
    operator,
    ledgerCheck: stores.ledgerCheck,
    cards,
    methods: rail.lasting,
    claims,
    clock,
    store: stores.reconciliations,
    onTrouble: (what, reason) => log.error(what, { reason }),
  })
  const pruning = startIdempotencyPruning(records, clock, log)
  const networkJobs = [
    startReceiptChecks({ methods: rail.lasting, claims, clock }, log),
    startReconciliations(reconciliation, clock, log, parts.takenOver),
    startTopUpChecks({ methods: rail.lasting, claims, clock }, topUps, log),
    ...(cards ? [startCardComparisons(cards.topUps, log), startCardRefunds(cards.refunds, log)] : []),
  ]
  // Ends the claims that a previous process was working on.
  await rail.payments.recover()
  const { payments } = rail
  return {
    /** For the process and tests. */
    moneyIn: { rail, topUps, cards: cards?.topUps ?? null, cardRefunds: cards?.refunds ?? null },
    auth: { paymentAttemptsPerMinute: config.payments.attemptsPerMinute },
    /** For the routes of wallets and owners. */
    routes: {
      cardRefunds: cards?.refunds ?? null,
      refundStore: stores.cardRefunds,
      reconciliation,
      unknownCheckouts: stores.unknownCheckouts,
      accounting: stores.accounting,
      revenue: stores.revenue,
      claims,
      topUps,
      cards,
      payments,
      sandboxTopUps: config.payments.sandboxTopUps,
      // A facilitator settles fixed prices only.
      upToFrom: config.payments.evm?.relayerKey ? config.payments.evm.minAmount : null,
    },
    /** For the pipeline. */
    paying: {
      funding: new PaymentFunding(payments, limiter, charges),
      idempotency: new Idempotency(records, clock, ledger),
    },
    async close() {
      // A slow network must not delay shutdown. Unfinished jobs continue after the next start.
      for (const job of networkJobs) void job.close()
      await Promise.all([pruning.close(), rail.close()])
    },
  }
}
