import type { Clock } from '../clock'
import type { Page } from '../page'
import type { Claim, ClaimStore } from './claim'
import type { PaymentMethod } from './method'

/** A chain forgets within hours, if at all: two days are looked back on, so that no day is missed. */
const LOOK_BACK_MS = 2 * 86_400_000
const PAGE = 200

export interface ReceiptCheckParts {
  readonly methods: () => Promise<readonly PaymentMethod[]>
  readonly claims: ClaimStore
  readonly clock: Clock
}

export interface ReceiptCheck {
  readonly checked: number
  /** What bought something, and the network says that it never happened. */
  readonly missing: readonly Claim[]
  /** What was refused, and came through after that: it is owed now. */
  readonly found: readonly Claim[]
}

/**
 * Reads every payment of the last two days that was sent again from its network. A chain that was reorganised may have forgotten one
 * after its answer was given (facts/payments 11): what to do about it is the operator's. And what was refused may have been brought
 * to the chain by somebody else: then it is paid, and its credential buys what it was for. A network that does not answer says nothing.
 */
export async function recheckReceipts(parts: ReceiptCheckParts): Promise<ReceiptCheck> {
  const { claims, clock } = parts
  const methods = new Map((await parts.methods()).map((method) => [method.name, method]))
  const missing: Claim[] = []
  const found: Claim[] = []
  let checked = 0
  for await (const claim of sentSince(claims, clock.now() - LOOK_BACK_MS)) {
    const method = methods.get(claim.method)
    if (!method) continue
    checked++
    const fate = await method.lookUp(claim)
    if (claim.paid && fate.kind === 'never') missing.push(claim)
    if (claim.paid || fate.kind !== 'settled') continue
    await claims.settled(claim.key, fate.reference, clock.now())
    await claims.owe(claim.key, 'it came through after it was refused', clock.now())
    found.push(claim)
  }
  return { checked, missing, found }
}

/** Booked top-ups of the last two days that their network has forgotten. A network that does not answer says nothing. */
export async function forgottenTopUps({ methods, claims, clock }: ReceiptCheckParts): Promise<readonly Claim[]> {
  const known = new Map((await methods()).map((method) => [method.name, method]))
  const forgotten: Claim[] = []
  for await (const claim of sentSince(claims, clock.now() - LOOK_BACK_MS)) {
    // What is not served yet is not booked yet either: the job that books it finds out.
    if (claim.purpose !== 'top_up' || claim.state !== 'served') continue
    const fate = await known.get(claim.method)?.lookUp(claim)
    if (fate?.kind === 'never') forgotten.push(claim)
  }
  return forgotten
}

async function* sentSince(claims: ClaimStore, since: number) {
  let cursor: string | null = null
  do {
    const page: Page<Claim> = await claims.sentSince(since, PAGE, cursor)
    yield* page.rows
    cursor = page.next
  } while (cursor !== null)
}
