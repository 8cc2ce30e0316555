import { type Clock, DAY_MS, MINUTE_MS } from '../../clock'
import { type AccountId, makeId, type PaymentId, type RequestId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { Ledger } from '../../ledger/ledger'
import { type Money, min, minus, ZERO } from '../../money'
import { pagedRows } from '../../page'
import type {
  CardCheckout,
  CardMessage,
  CardReturn,
  CardState,
  ListedPage,
  UnknownCheckoutStore,
} from '../../payments/card-checkout'
import type { Claim, ClaimStore } from '../../payments/claim'
import type { PaymentFate } from '../../payments/method'
import { reasonOf } from '../../result'
import { isUnavailable } from '../../unavailable'
import { type TopUps, topUpClaim } from '../top-ups'

/** How long after a payment page expires the job asks the processor about its outcome. */
const EXPIRY_GRACE_MS = MINUTE_MS
/** Cardholders can dispute a payment for about this long. */
const LOOK_BACK_MS = 120 * DAY_MS
/** The number of claims per page, and of payments between two progress reports. */
const PAGE_SIZE = 100
const MAX_FAILURES_IN_A_ROW = 5

export interface CardComparison {
  readonly compared: number
  /** Refunds and disputes that differed in the ledger and were corrected. */
  readonly corrected: number
  readonly failed: number
  /** False when the comparison stopped before the oldest payment. */
  readonly complete: boolean
}

/** Differences between the processor and the ledger. */
export interface CardDifference {
  /**
   * `payment`: a top-up that is paid and not booked. `unknown_there`: one that is booked, and that the processor does not know.
   * `doubtful`: what the processor says of it cannot be right, so nothing is booked.
   */
  readonly what: 'payment' | 'refund' | 'dispute' | 'unknown_there' | 'doubtful'
  readonly page: string
  /** The processor's id of it. */
  readonly id: string
  readonly payment: PaymentId
  readonly account: AccountId | null
  readonly atProcessor: Money
  readonly here: Money
}

/** A page of ours that the database does not know. */
export interface MissingTopUp extends Pick<CardState, 'state' | 'amount' | 'topUp'> {
  readonly page: string
  readonly firstAt: number
  /** Whether it is paid in USD, its account is known, and no other page has its top-up. */
  readonly bookable: boolean
}

interface CardTopUpsParts {
  readonly card: CardCheckout
  readonly claims: ClaimStore
  readonly topUps: TopUps
  readonly ledger: Ledger
  readonly unknown: UnknownCheckoutStore
  readonly clock: Clock
  readonly onTrouble: (what: string, reason: string) => void
}

/**
 * Top-ups by card. The content of a webhook message is never trusted: the page, its refunds and its disputes are fetched from
 * the processor, and the ledger is corrected to match. Two jobs make up for lost messages: one settles open pages with
 * `fateOf`, and a daily one runs `compareAll`.
 */
export class CardTopUps {
  private readonly parts: CardTopUpsParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: CardTopUpsParts) {
    this.parts = parts
  }

  /** Opens a payment page. Its claim is durable before the page's URL is returned. */
  async open(
    account: AccountId,
    email: string,
    amount: Money,
    requestId: RequestId,
  ): Promise<{ claim: Claim; url: string }> {
    const now = this.parts.clock.now()
    const id = makeId('pay', now)
    const page = await this.parts.card.open({ id, account, email, amount })
    const key = keyOf(page.id)
    const newClaim = topUpClaim({
      id,
      key,
      account,
      amount,
      requestId,
      // Never the email address: the row outlives a closed account, and its owner has a right to be forgotten.
      method: 'card',
      payer: account,
      transaction: page.id,
      validBefore: page.expiresAt,
      leaseUntil: page.expiresAt + EXPIRY_GRACE_MS,
      createdAt: now,
    })
    const taken = await this.parts.claims.take(newClaim, now)
    // From here on only the processor knows whether it is paid.
    if (taken.kind !== 'refused') await this.parts.claims.settling(key, taken.attempt, now)
    const claim = await this.parts.claims.find(key)
    if (!claim) throw new Error(`top-up ${id} was not written`)
    return { claim, url: page.url }
  }

  private async pageOf(message: CardMessage): Promise<string | null> {
    if (message.kind === 'other') return null
    return message.kind === 'page' ? message.id : this.parts.card.pageOf(message.payment)
  }

  /** Handles a signed webhook message. Idempotent, in any order, also concurrently. */
  async follow(message: CardMessage): Promise<void> {
    const page = await this.pageOf(message)
    if (!page) return
    await this.reconcilePage(page)
    if (!(await this.parts.claims.find(keyOf(page)))) await this.keepUnknown(page)
  }

  /** A page of ours that the database does not know: kept and reported, because somebody may have paid on it. */
  private async keepUnknown(page: string): Promise<void> {
    const topUp = await this.parts.card.topUpOn(page)
    if (!topUp) return
    if (await this.parts.unknown.keep(page, topUp.id, this.parts.clock.now()))
      this.parts.onTrouble(
        'card',
        `the page ${page} of top-up ${topUp.id} is unknown here. Run "gateway operator reconcile"`,
      )
  }

  /**
   * Pages of ours that the database does not know, with what the processor says of them now. `isComplete` is false if it could not be
   * asked about one.
   */
  async missing(): Promise<{ readonly pages: readonly MissingTopUp[]; readonly isComplete: boolean }> {
    const pages: MissingTopUp[] = []
    let isComplete = true
    for (const { page, firstAt } of await this.parts.unknown.unresolved()) {
      try {
        pages.push({ page, firstAt, ...(await this.missingState(page)) })
      } catch (error) {
        if (!isUnavailable(error)) throw error
        isComplete = false
        this.parts.onTrouble('card', `the page ${page}, which is unknown here, could not be read: ${reasonOf(error)}`)
      }
    }
    return { pages, isComplete }
  }

  private async missingState(page: string): Promise<Pick<MissingTopUp, 'state' | 'amount' | 'topUp' | 'bookable'>> {
    // One that the processor does not know any more can never be paid.
    if (!(await this.parts.card.topUpOn(page))) return { state: 'expired', amount: ZERO, topUp: null, bookable: false }
    const { state, amount, currency, topUp } = await this.parts.card.state(page)
    const isPaid = state === 'paid' && currency === 'USD' && amount > 0
    const isKnown = topUp !== null && (await this.parts.ledger.balance(topUp.account)) !== null
    return { state, amount, topUp, bookable: isPaid && isKnown && (await this.isOnlyPage(page, topUp.id)) }
  }

  /** Whether no other page has this top-up: a second one would book its money twice. */
  private async isOnlyPage(page: string, topUp: PaymentId): Promise<boolean> {
    const claim = await this.parts.claims.byId(topUp)
    return claim === null || claim.transaction === page
  }

  /**
   * Books these pages of `missing`: paid ones of known accounts, each once, under the id that the page has always had. Then corrects
   * refunds and disputes. Returns how many were booked.
   */
  async bookMissing(missing: readonly MissingTopUp[]): Promise<number> {
    let booked = 0
    for (const { page, topUp, amount, state, bookable } of missing) {
      const now = this.parts.clock.now()
      if (bookable && topUp) {
        const { id, account } = topUp
        if (!(await this.isOnlyPage(page, id))) continue
        const claim = topUpClaim({
          id,
          key: keyOf(page),
          account,
          amount,
          requestId: makeId('req', now),
          method: 'card',
          payer: account,
          transaction: page,
          validBefore: null,
          leaseUntil: now,
          createdAt: now,
        })
        const taken = await this.parts.claims.take(claim, now)
        if (taken.kind !== 'refused') await this.parts.claims.settling(claim.key, taken.attempt, now)
        await this.reconcilePage(page)
        if ((await this.parts.claims.find(claim.key))?.state !== 'served') continue
        booked++
      }
      if (bookable || state === 'expired') await this.parts.unknown.resolve(page, now)
    }
    return booked
  }

  /**
   * Compares the payments of the last 120 days with the processor, one at a time, and corrects the ledger to match. Makes up for
   * lost messages. Stops early, with `complete` false, when the processor keeps failing.
   */
  async compareAll(onProgress: (compared: number) => void): Promise<CardComparison> {
    const since = this.parts.clock.now() - LOOK_BACK_MS
    const sums = { compared: 0, corrected: 0, failed: 0 }
    let failedInARow = 0
    const filter = { state: 'served', account: null, purpose: 'top_up' } as const
    for await (const claim of pagedRows((cursor) => this.parts.claims.list(filter, PAGE_SIZE, cursor))) {
      if (claim.createdAt < since) break
      if (claim.method !== 'card') continue
      try {
        sums.corrected += await this.reconcilePage(claim.transaction)
        failedInARow = 0
      } catch (error) {
        sums.failed++
        this.parts.onTrouble('card', `${claim.id} could not be compared with the card processor: ${reasonOf(error)}`)
        if (++failedInARow === MAX_FAILURES_IN_A_ROW) return { ...sums, complete: false }
      }
      if (++sums.compared % PAGE_SIZE === 0) onProgress(sums.compared)
    }
    return { ...sums, complete: true }
  }

  /** The outcome of a payment page, for the job. */
  async fateOf(claim: Pick<Claim, 'id' | 'transaction' | 'amount'>): Promise<PaymentFate> {
    const { state, amount, currency, payment } = await this.parts.card.state(claim.transaction)
    if (state === 'open') return { kind: 'open' }
    if (state === 'expired') return { kind: 'never' }
    if (amount === claim.amount && currency === 'USD' && payment) return { kind: 'settled', reference: payment }
    this.parts.onTrouble('card', `${claim.id} was paid in a different amount or currency than requested`)
    return { kind: 'open' }
  }

  /**
   * Corrects the ledger to match the processor's state of a page: the top-up if it was paid, then its refunds and disputes. Runs
   * once at a time per page, so that the latest state is written last. Returns the number of corrections.
   */
  reconcilePage(page: string): Promise<number> {
    return this.mutex.take(page, async () => {
      const claim = await this.parts.claims.find(keyOf(page))
      const paid = claim && (await this.paid(claim))
      if (!paid?.account || !paid.reference) return 0
      let corrected = 0
      for (const cardReturn of await this.parts.card.returns(paid.reference)) {
        if (isDoubtful(cardReturn, paid))
          this.parts.onTrouble(
            'card',
            `what the card processor says of ${cardReturn.id} (${paid.id}) cannot be right; not booked`,
          )
        else if (await this.reconcileReturn(paid.account, paid, cardReturn)) corrected++
      }
      return corrected
    })
  }

  /** Books the claim if its page was paid. Returns the booked claim, or null while it is unpaid. */
  private async paid(claim: Claim): Promise<Claim | null> {
    if (claim.state === 'served') return claim
    // A claim that was given up is checked too: if its page was paid after all, the money belongs to its owner.
    const fate = await this.fateOf(claim)
    if (fate.kind === 'never')
      await this.parts.claims.release(claim.key, 'the page expired', false, this.parts.clock.now())
    if (fate.kind !== 'settled') return null
    if (!(await this.parts.topUps.book(claim.key, fate.reference))) throw new NotBooked(claim.id)
    return this.parts.claims.find(claim.key)
  }

  /** Compares a page with the ledger, and changes nothing. */
  async compare(listed: ListedPage): Promise<readonly CardDifference[]> {
    const { id: page, topUp, state, amount, currency } = listed
    const claim = await this.parts.claims.find(keyOf(page))
    const subject = { page, payment: claim?.id ?? topUp.id, account: claim?.account ?? topUp.account }
    if (!claim) {
      // An open page that is unknown may be paid yet; an expired one never was.
      if (state !== 'expired') await this.parts.unknown.keep(page, topUp.id, this.parts.clock.now())
      return []
    }
    if (claim.state !== 'served') {
      const what = amount === claim.amount && currency === 'USD' ? 'payment' : 'doubtful'
      return state === 'paid' ? [{ ...subject, what, id: page, atProcessor: amount, here: ZERO }] : []
    }
    const differences: CardDifference[] = []
    for (const cardReturn of claim.reference ? await this.parts.card.returns(claim.reference) : []) {
      const { kind, id, ours } = cardReturn
      const taken = takenBy(cardReturn, claim)
      const { takenBack } = await this.parts.ledger.booked(returnReference(id, ours))
      const what = isDoubtful(cardReturn, claim) ? 'doubtful' : kind
      if (what === 'doubtful' || taken !== takenBack)
        differences.push({ ...subject, what, id, atProcessor: taken, here: takenBack })
    }
    return differences
  }

  /** Books the difference between a refund or dispute and its ledger entries. Returns false when they match. */
  private async reconcileReturn(account: AccountId, paid: Claim, cardReturn: CardReturn): Promise<boolean> {
    const { kind, id, ours } = cardReturn
    const { id: topUp } = paid
    const amount = takenBy(cardReturn, paid)
    // The money of a refund that was asked for here was booked before the processor was asked.
    const name = returnReference(id, ours)
    const { references, takenBack } = await this.parts.ledger.booked(name)
    if (amount === takenBack) return false
    // The reference numbers the corrections, so that two made from the same ledger state cannot both be booked.
    const reference = references.length === 0 ? name : `${name}:${references.length}`
    const booked =
      amount > takenBack
        ? await this.parts.ledger.takeBack({
            account,
            kind,
            reference,
            amount: minus(amount, takenBack),
            description: `${TAKEN_BACK[kind]} ${topUp}`,
          })
        : await this.parts.ledger.credit({
            account,
            kind,
            reference,
            amount: minus(takenBack, amount),
            part: 'paid',
            description: `${RETURNED[kind]} ${topUp}`,
          })
    if (!booked.ok) throw new NotBooked(id)
    return true
  }
}

/** The ledger could not book it now, so the sender is asked to try again (core/unavailable). */
class NotBooked extends Error {
  readonly unavailable = true

  constructor(what: string) {
    super(`${what} could not be booked`)
  }
}

/** A refund is at most what was paid. */
function isDoubtful({ kind, amount, isDoubtful: isWrong }: CardReturn, paid: Pick<Claim, 'amount'>): boolean {
  return isWrong === true || (kind === 'refund' && amount > paid.amount)
}

/** The amount that it takes from the balance. A dispute can exceed the payment, where the cardholder's bank converted the amount. */
export function takenBy({ amount }: CardReturn, paid: Pick<Claim, 'amount'>): Money {
  return min(amount, paid.amount)
}

const TAKEN_BACK = { refund: 'Refund of top-up', dispute: 'Disputed top-up' } as const
const RETURNED = { refund: 'Failed refund of top-up', dispute: 'Won dispute of top-up' } as const

/** The ledger's reference of a refund or dispute. */
export function returnReference(id: string, ours: string | null): string {
  return ours === null ? `card:${id}` : refundReference(ours)
}

/** The ledger's reference of a refund that an operator asked for. */
export function refundReference(id: string): string {
  return `refund:${id}`
}

function keyOf(page: string): string {
  return `card:${page}`
}
