import type { Actor } from '../../audit'
import { type Clock, DAY_MS } from '../../clock'
import { makeId, type ReconciliationId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { LedgerCheck, LedgerProblem } from '../../ledger/ledger-check'
import type { CardCheckout } from '../../payments/card-checkout'
import { type ChainCheckParts, type ChainComparison, compareWithChain } from '../../payments/chain-check'
import type { ClaimStore } from '../../payments/claim'
import type { Operator } from '../staff/operator'
import { type CardComparisonOfPeriod, compareCards } from './card-reconciliation'
import type { CardTopUps, MissingTopUp } from './card-top-ups'

/** Cardholders can dispute a payment for about this long. */
const CARD_DAYS = 120
/** A chain settles within minutes, and reading its logs takes a request per thousand blocks. */
const CHAIN_DAYS = 7

const NOTHING_MISSING = { pages: [], isComplete: true }

/** The findings and bookings of a comparison. */
export interface ReconciliationResult {
  readonly ledger: readonly LedgerProblem[]
  /** Pages of the processor that were unknown here when it began. */
  readonly missing: readonly MissingTopUp[]
  /** How many of them were booked. */
  readonly booked: number
  /** Null without a card processor. */
  readonly cards: CardComparisonOfPeriod | null
  /** Null without payments by wallet. */
  readonly chain: ChainComparison | null
}

export interface ReconciliationRun {
  readonly id: ReconciliationId
  /** `job`, or who asked for it. */
  readonly actor: string
  readonly startedAt: number
  readonly endedAt: number
  readonly isApplied: boolean
  readonly isComplete: boolean
  /** How many things did not agree when it began. */
  readonly problems: number
  readonly result: ReconciliationResult
}

export interface ReconciliationStore {
  /** Keeps a run, and forgets all but the newest. */
  add(run: ReconciliationRun): Promise<void>
  /** Newest first. */
  newest(limit: number): Promise<readonly ReconciliationRun[]>
}

export interface ReconciliationAsked {
  readonly actor: Actor | 'job'
  /** Null: the last 120 days of cards, and the last 7 days of chains. */
  readonly period: { readonly from: number; readonly to: number } | null
  readonly apply: boolean
}

interface Parts {
  readonly operator: Pick<Operator, 'noteBooks'>
  readonly ledgerCheck: LedgerCheck
  /** Null if no card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps; readonly checkout: CardCheckout } | null
  readonly methods: ChainCheckParts['methods']
  readonly claims: ClaimStore
  readonly store: ReconciliationStore
  readonly clock: Clock
  readonly onTrouble: (what: string, reason: string) => void
}

/** Compares the ledger with itself, the card processor and the chains, one comparison at a time, and remembers what it found. */
export class Reconciliation {
  private readonly parts: Parts
  private readonly mutex = new KeyedMutex()

  constructor(parts: Parts) {
    this.parts = parts
  }

  run(asked: ReconciliationAsked): Promise<ReconciliationRun> {
    return this.mutex.take('run', async () => {
      const { clock, store, operator } = this.parts
      const startedAt = clock.now()
      const { actor, apply } = asked
      const result = await this.compare(asked)
      const { ledger, missing, booked, cards, chain } = result
      if (apply && actor !== 'job')
        await operator.noteBooks(actor, 'books.reconcile', {
          booked,
          corrected: cards?.corrected ?? 0,
          chain: chain?.booked ?? 0,
        })
      const run: ReconciliationRun = {
        id: makeId('rec', startedAt),
        actor: actor === 'job' ? 'job' : actor.id,
        startedAt,
        endedAt: clock.now(),
        isApplied: apply,
        result,
        isComplete: (cards?.complete ?? true) && (chain?.complete ?? true),
        problems: ledger.length + missing.length + (cards?.differences.length ?? 0) + (chain?.problems.length ?? 0),
      }
      await store.add(run)
      return run
    })
  }

  newest(limit: number): Promise<readonly ReconciliationRun[]> {
    return this.parts.store.newest(limit)
  }

  private async compare({ period, apply }: ReconciliationAsked): Promise<ReconciliationResult> {
    const { cards, ledgerCheck, methods, clock } = this.parts
    const now = clock.now()
    const last = (days: number) => period ?? { from: now - days * DAY_MS, to: now }
    // Before what is missing is listed, because it finds more of it.
    const compared =
      cards &&
      (await compareCards({ ...this.parts, card: cards.checkout, topUps: cards.topUps }, last(CARD_DAYS), apply))
    const missing = cards && compared?.complete ? await cards.topUps.missing() : NOTHING_MISSING
    const booked = apply && cards ? await cards.topUps.bookMissing(missing.pages) : 0
    const chains = (await methods()).some(({ received }) => received)
    const chain = chains ? await compareWithChain(this.parts, last(CHAIN_DAYS), apply) : null
    const complete = (compared?.complete ?? false) && missing.isComplete
    return {
      ledger: await ledgerCheck(),
      missing: missing.pages,
      booked,
      cards: compared && { ...compared, complete },
      chain,
    }
  }
}
