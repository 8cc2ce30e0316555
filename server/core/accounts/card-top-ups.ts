import type { Clock } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import type { Ledger } from '../ledger/ledger'
import { type Money, minus } from '../money'
import type { Page } from '../page'
import type { CardCheckout, CardMessage, CardReturn } from '../payments/card-checkout'
import type { Claim, ClaimStore } from '../payments/claim'
import type { Fate } from '../payments/method'
import { type TopUps, topUpClaim } from './top-ups'

/** After the page has ended, so long until the job asks what became of it. */
const PATIENCE_MS = 60_000
/** Cardholders can dispute a payment for about so long. */
const LOOK_BACK_MS = 120 * 86_400_000
/** Claims that are read at once, and payments between two reports of progress. */
const PAGE = 100
const MAX_FAILURES_IN_A_ROW = 5

export interface CardComparison {
  readonly compared: number
  /** Refunds and disputes that the ledger had differently. */
  readonly corrected: number
  readonly failed: number
  /** False when it ended before the oldest payment. */
  readonly complete: boolean
}

/**
 * Top-ups by card. What a message says is never believed: the page, its refunds and its disputes are read again from the
 * processor, and the ledger is brought to what it says. Messages that never come are made up for by two jobs: `fateOf` serves
 * the one that ends open pages, `compareAll` is the daily one.
 */
export class CardTopUps {
  private readonly card: CardCheckout
  private readonly claims: ClaimStore
  private readonly topUps: TopUps
  private readonly ledger: Ledger
  private readonly clock: Clock
  private readonly turns = new KeyedMutex()
  private readonly onTrouble: (what: string, reason: string) => void

  constructor(parts: {
    card: CardCheckout
    claims: ClaimStore
    topUps: TopUps
    ledger: Ledger
    clock: Clock
    onTrouble: (what: string, reason: string) => void
  }) {
    this.card = parts.card
    this.claims = parts.claims
    this.topUps = parts.topUps
    this.ledger = parts.ledger
    this.clock = parts.clock
    this.onTrouble = parts.onTrouble
  }

  /** Opens a page to pay on. Its claim is durable before the address of the page is told. */
  async open(
    account: AccountId,
    email: string,
    amount: Money,
    requestId: RequestId,
  ): Promise<{ claim: Claim; url: string }> {
    const now = this.clock.now()
    const id = makeId('pay', now)
    const page = await this.card.open({ id, account, email, amount })
    const key = keyOf(page.id)
    const newClaim = topUpClaim({
      ...{ id, key, account, amount, requestId },
      // Never the address: the row outlives an account that is closed, and its owner has a right to be forgotten.
      ...{ method: 'card', payer: account, transaction: page.id },
      ...{ validBefore: page.expiresAt, leaseUntil: page.expiresAt + PATIENCE_MS, createdAt: now },
    })
    const taken = await this.claims.take(newClaim, now)
    // From here on only the processor knows.
    if (taken.kind !== 'refused') await this.claims.settling(key, taken.attempt, now)
    const claim = await this.claims.find(key)
    if (!claim) throw new Error(`top-up ${id} was not written`)
    return { claim, url: page.url }
  }

  /** Does what a signed message is about. Free to repeat, in any order, at once. */
  async follow(message: CardMessage): Promise<void> {
    if (message.kind === 'other') return
    const page = message.kind === 'page' ? message.id : await this.card.pageOf(message.payment)
    if (page) await this.bring(page)
  }

  /**
   * Compares the payments of the last 120 days with the processor, one at a time, and brings the ledger to what it says: for
   * messages that never came. Ends early, not `complete`, when the processor keeps failing.
   */
  async compareAll(onProgress: (compared: number) => void): Promise<CardComparison> {
    const since = this.clock.now() - LOOK_BACK_MS
    const sums = { compared: 0, corrected: 0, failed: 0 }
    let failedInARow = 0
    for await (const claim of this.servedSince(since)) {
      try {
        sums.corrected += await this.bring(claim.transaction)
        failedInARow = 0
      } catch (error) {
        sums.failed++
        this.onTrouble('card', `${claim.id} could not be compared with the card processor: ${error}`)
        if (++failedInARow === MAX_FAILURES_IN_A_ROW) return { ...sums, complete: false }
      }
      if (++sums.compared % PAGE === 0) onProgress(sums.compared)
    }
    return { ...sums, complete: true }
  }

  /** What became of a page, for the job. */
  async fateOf(claim: Pick<Claim, 'id' | 'transaction' | 'amount'>): Promise<Fate> {
    const { state, amount, currency, payment } = await this.card.state(claim.transaction)
    if (state === 'open') return { kind: 'open' }
    if (state === 'expired') return { kind: 'never' }
    if (amount === claim.amount && currency === 'USD' && payment) return { kind: 'settled', reference: payment }
    this.onTrouble('card', `${claim.id} was paid with another amount or currency than was asked for`)
    return { kind: 'open' }
  }

  /**
   * Brings the ledger to what the processor says of a page now: the top-up, when it was paid, then every refund and dispute of
   * it. One at a time per page, so that whoever asks later writes what is newer. Gives how many corrections were booked.
   */
  private bring(page: string): Promise<number> {
    return this.turns.take(page, async () => {
      const claim = await this.claims.find(keyOf(page))
      const paid = claim && (await this.paid(claim))
      if (!paid?.account || !paid.reference) return 0
      let corrected = 0
      for (const given of await this.card.returns(paid.reference))
        if (await this.bringReturn(paid.account, paid.id, given)) corrected++
      return corrected
    })
  }

  /** The claim once its money is in the balance; null while it is not paid. */
  private async paid(claim: Claim): Promise<Claim | null> {
    if (claim.state === 'served') return claim
    // Also of one that was given up: should its page be paid after all, the money is its owner's.
    const fate = await this.fateOf(claim)
    if (fate.kind === 'never') await this.claims.release(claim.key, 'the page expired', false, this.clock.now())
    if (fate.kind !== 'settled') return null
    if (!(await this.topUps.book(claim.key, fate.reference))) throw new NotBooked(claim.id)
    return this.claims.find(claim.key)
  }

  /** Books what a refund or a dispute takes more, or less, than the ledger has of it. False when they agree. */
  private async bringReturn(account: AccountId, topUp: string, { kind, id, amount }: CardReturn): Promise<boolean> {
    const name = `card:${id}`
    const { references, takenBack } = await this.ledger.booked(name)
    if (amount === takenBack) return false
    // The n-th correction has a name of its own: two that start from the same ledger cannot both be booked.
    const reference = references.length === 0 ? name : `${name}:${references.length}`
    const booked =
      amount > takenBack
        ? await this.ledger.takeBack({
            ...{ account, kind, reference, amount: minus(amount, takenBack) },
            description: `${TAKEN[kind]} ${topUp}`,
          })
        : await this.ledger.credit({
            ...{ account, kind, reference, amount: minus(takenBack, amount), part: 'paid' },
            description: `${GIVEN[kind]} ${topUp}`,
          })
    if (!booked.ok) throw new NotBooked(id)
    return true
  }

  private async *servedSince(since: number): AsyncGenerator<Claim> {
    let cursor: string | null = null
    do {
      const filter = { state: 'served', account: null, purpose: 'top_up' } as const
      const page: Page<Claim> | null = await this.claims.list(filter, PAGE, cursor)
      for (const claim of page?.rows ?? []) {
        if (claim.createdAt < since) return
        if (claim.method === 'card') yield claim
      }
      cursor = page?.next ?? null
    } while (cursor !== null)
  }
}

/** The ledger did not take it now: whoever asked is told to come back (core/unavailable). */
class NotBooked extends Error {
  readonly unavailable = true

  constructor(what: string) {
    super(`${what} could not be booked`)
  }
}

const TAKEN = { refund: 'Refund of top-up', dispute: 'Disputed top-up' } as const
const GIVEN = { refund: 'Refund that failed, of top-up', dispute: 'Dispute won, of top-up' } as const

function keyOf(page: string): string {
  return `card:${page}`
}
