import type { Clock } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import type { Money } from '../money'
import type { CardCheckout, CardMessage } from '../payments/card-checkout'
import type { Claim, ClaimStore } from '../payments/claim'
import type { Fate } from '../payments/method'
import { type TopUps, topUpClaim } from './top-ups'

/** After the page has ended, so long until the job asks what became of it. */
const PATIENCE_MS = 60_000

/**
 * Top-ups by card. What a message says is never believed: the page is read again from the processor, and its amount and currency
 * must be those that we asked for. A message that never comes is made up for by the job.
 */
export class CardTopUps {
  private readonly card: CardCheckout
  private readonly claims: ClaimStore
  private readonly topUps: TopUps
  private readonly ledger: Ledger
  private readonly clock: Clock
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

  /** Does what a signed message is about. Free to repeat. */
  async follow(message: CardMessage): Promise<void> {
    if (message.kind === 'page') return this.followPage(message.id)
    if (message.kind === 'payment') await this.bookReturns(message.payment)
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

  private async followPage(page: string): Promise<void> {
    const key = keyOf(page)
    const claim = await this.claims.find(key)
    if (!claim || claim.state === 'served' || claim.state === 'released') return
    const fate = await this.fateOf(claim)
    if (fate.kind === 'open') return
    if (fate.kind === 'never') return this.claims.release(key, 'the page expired', false, this.clock.now())
    await this.topUps.book(key, fate.reference)
  }

  private async bookReturns(payment: string): Promise<void> {
    for (const { kind, reference, page, amount } of await this.card.returns(payment)) {
      const claim = await this.claims.find(keyOf(page))
      if (!claim?.account || !claim.paid) continue
      const what = {
        account: claim.account,
        amount,
        description: `${NAMED[kind]} ${claim.id}`,
        reference: `card:${reference}`,
      }
      const booked =
        kind === 'dispute_won'
          ? await this.ledger.credit({ ...what, part: 'paid', kind: 'dispute' })
          : await this.ledger.takeBack({ ...what, kind })
      if (!booked.ok && booked.error !== 'already_booked') throw new Error(`${kind} ${reference} could not be booked`)
    }
  }
}

const NAMED = { refund: 'Refund of top-up', dispute: 'Disputed top-up', dispute_won: 'Dispute won, of top-up' } as const

function keyOf(page: string): string {
  return `card:${page}`
}
