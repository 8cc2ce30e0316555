import type { Clock } from '../clock'
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

/**
 * Reads the payments of the last two days again from their networks: a chain that was reorganised may have forgotten one after its
 * answer was given (facts/payments 11). Gives how many were asked for, and those that the network says never happened. Moves no money
 * and changes no row: what to do about them is the operator's. A network that does not answer says nothing.
 */
export async function recheckReceipts(
  parts: ReceiptCheckParts,
): Promise<{ readonly checked: number; readonly missing: readonly Claim[] }> {
  const methods = new Map((await parts.methods()).map((method) => [method.name, method]))
  const since = parts.clock.now() - LOOK_BACK_MS
  const missing: Claim[] = []
  let checked = 0
  for (const state of ['served', 'paid_unserved'] as const)
    for await (const claim of claimsSince(parts.claims, state, since)) {
      const method = methods.get(claim.method)
      if (!method) continue
      checked++
      if ((await method.lookUp(claim)).kind === 'never') missing.push(claim)
    }
  return { checked, missing }
}

async function* claimsSince(claims: ClaimStore, state: 'served' | 'paid_unserved', since: number) {
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<ClaimStore['list']>> = await claims.list(
      { state, account: null, purpose: null },
      PAGE,
      cursor,
    )
    for (const claim of page?.rows ?? []) {
      if (claim.createdAt < since) return
      yield claim
    }
    cursor = page?.next ?? null
  } while (cursor !== null)
}
