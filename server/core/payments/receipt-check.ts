import { type Clock, DAY_MS } from '../clock'
import { pagedRows } from '../page'
import type { Claim, ClaimStore } from './claim'
import type { PaymentMethod } from './method'

/** A chain reorganises within hours, if at all. Two days leave no gap between daily checks. */
const LOOK_BACK_MS = 2 * DAY_MS
const PAGE_SIZE = 200

export interface ReceiptCheckParts {
  readonly methods: () => Promise<readonly PaymentMethod[]>
  readonly claims: ClaimStore
  readonly clock: Clock
}

export interface ReceiptCheck {
  readonly checked: number
  /** Payments that bought something but no longer exist on their network. */
  readonly missing: readonly Claim[]
  /** Refused payments that went through later. Their purchases are owed now. */
  readonly found: readonly Claim[]
}

/**
 * Looks up every sent payment of the last two days on its network again. A reorganised chain may have dropped one after its response
 * was delivered; the operator decides what to do. A refused one may have been submitted by someone else: then it is
 * paid, and its credential buys what it was for. A network that does not answer changes nothing.
 */
export async function recheckReceipts(parts: ReceiptCheckParts): Promise<ReceiptCheck> {
  const { claims, clock } = parts
  const methods = new Map((await parts.methods()).map((method) => [method.name, method]))
  const missing: Claim[] = []
  const found: Claim[] = []
  let checked = 0
  for await (const claim of recentlySent(parts)) {
    const method = methods.get(claim.method)
    if (!method) continue
    checked++
    const fate = await method.lookUp(claim)
    if (claim.paid && fate.kind === 'never') missing.push(claim)
    if (claim.paid || fate.kind !== 'settled') continue
    await claims.settled(claim.key, fate.reference, clock.now())
    await claims.markUnserved(claim.key, 'it came through after it was refused', clock.now())
    found.push(claim)
  }
  return { checked, missing, found }
}

/** Booked top-ups of the last two days that their network has reverted. A network that does not answer changes nothing. */
export async function revertedTopUps(parts: ReceiptCheckParts): Promise<readonly Claim[]> {
  const methods = new Map((await parts.methods()).map((method) => [method.name, method]))
  const reverted: Claim[] = []
  for await (const claim of recentlySent(parts)) {
    // A claim that is not served is not booked either. The job that books it checks the network itself.
    if (claim.purpose !== 'top_up' || claim.state !== 'served') continue
    const fate = await methods.get(claim.method)?.lookUp(claim)
    if (fate?.kind === 'never') reverted.push(claim)
  }
  return reverted
}

function recentlySent({ claims, clock }: ReceiptCheckParts): AsyncIterable<Claim> {
  const since = clock.now() - LOOK_BACK_MS
  return pagedRows((cursor) => claims.sentSince(since, PAGE_SIZE, cursor))
}
