import { ZERO } from '../../money'
import { pagedRows } from '../../page'
import type { CardCheckout, ListedPage } from '../../payments/card-checkout'
import type { ClaimStore } from '../../payments/claim'
import { reasonOf } from '../../result'
import { isUnavailable } from '../../unavailable'
import type { CardDifference, CardTopUps } from './card-top-ups'

const PAGE_SIZE = 200
const MAX_DIFFERENCES = 1000

export interface CardComparisonOfPeriod {
  readonly from: number
  readonly to: number
  /** Pages of the processor that were compared. */
  readonly compared: number
  /** As they were found. */
  readonly differences: readonly CardDifference[]
  /** How many pages were corrected, with `apply`. */
  readonly corrected: number
  /** False when the processor stopped answering. */
  readonly complete: boolean
}

interface Parts {
  readonly card: CardCheckout
  readonly topUps: CardTopUps
  readonly claims: ClaimStore
  readonly onTrouble: (what: string, reason: string) => void
}

/**
 * Compares the payments of any period with the processor: pages that were opened in it, payments of which something was returned in it, and
 * top-ups that were booked in it. Pages that are unknown here are kept for `missing`. `apply` corrects the ledger where it differs.
 */
export async function compareCards(
  parts: Parts,
  { from, to }: { readonly from: number; readonly to: number },
  apply: boolean,
): Promise<CardComparisonOfPeriod> {
  const { card, topUps, claims, onTrouble } = parts
  const seen = new Set<string>()
  const differences: CardDifference[] = []
  let corrected = 0
  const compare = async (page: ListedPage) => {
    if (seen.has(page.id)) return
    seen.add(page.id)
    const found = await topUps.compare(page)
    if (found.length === 0) return
    differences.push(...found)
    if (!apply) return
    await topUps.reconcilePage(page.id)
    if ((await topUps.compare(page)).length < found.length) corrected++
  }
  const compareById = async (page: string): Promise<boolean> => {
    const topUp = await card.topUpOn(page)
    if (topUp) await compare({ ...(await card.state(page)), topUp, id: page })
    return topUp !== null
  }
  const result = (complete: boolean): CardComparisonOfPeriod => ({
    from,
    to,
    compared: seen.size,
    differences: differences.slice(0, MAX_DIFFERENCES),
    corrected,
    complete,
  })
  try {
    for await (const page of card.pagesBetween(from, to)) await compare(page)
    for await (const payment of card.returnedBetween(from, to)) {
      const page = await card.pageOf(payment)
      if (page !== null && !seen.has(page)) await compareById(page)
    }
    const filter = { state: 'served', account: null, purpose: 'top_up' } as const
    for await (const claim of pagedRows((cursor) => claims.list(filter, PAGE_SIZE, cursor))) {
      if (claim.createdAt < from) break
      const { method, transaction: page, createdAt, id, account, amount } = claim
      if (method !== 'card' || createdAt >= to || seen.has(page) || (await compareById(page))) continue
      differences.push({ what: 'unknown_there', page, id: page, payment: id, account, atProcessor: ZERO, here: amount })
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    onTrouble('card', `the comparison with the card processor stopped: ${reasonOf(error)}`)
    return result(false)
  }
  return result(true)
}
