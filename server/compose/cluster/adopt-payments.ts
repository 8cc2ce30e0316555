import type { EarlierPayments } from '../../core/cluster/cells'
import type { PaymentId } from '../../core/ids'

const AT_ONCE = 5_000

interface ClaimKeys {
  keys(after: PaymentId | null, limit: number): Promise<readonly { readonly id: PaymentId; readonly key: string }[]>
}

/**
 * Writes the payments of `main` to the directory, once: it took them while it was the only cell. Until then no other cell takes one, because it
 * could take a used one. Safe to repeat after a crash.
 */
export async function adoptPayments(claims: ClaimKeys, earlier: EarlierPayments): Promise<void> {
  if (await earlier.areKnown()) return
  let after: PaymentId | null = null
  for (;;) {
    const page = await claims.keys(after, AT_ONCE)
    const areLast = page.length < AT_ONCE
    await earlier.add(
      page.map(({ key }) => key),
      areLast,
    )
    if (areLast) return
    after = page.at(-1)?.id ?? null
  }
}
