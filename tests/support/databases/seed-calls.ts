import type { Account } from '../../../server/core/accounts/account'
import { type AccountId, type KeyId, makeId } from '../../../server/core/ids'
import { NO_TOKENS } from '../../../server/core/usage/call-record'
import type { Harness } from '../harness'

/** Writes calls that were not charged into the log, newest last, as the server's own best-effort rows. */
export async function seedCalls(
  gateway: Pick<Harness, 'core' | 'clock'>,
  { id: accountId }: Pick<Account, 'id'> | { id: AccountId },
  calls: { readonly key: string; readonly count: number; readonly status?: number; readonly code?: string },
): Promise<void> {
  const { key, count, status = 404, code = 'unknown_endpoint' } = calls
  const at = gateway.clock.now() - count
  for (let one = 0; one < count; one++) {
    gateway.core.journal.note({
      id: makeId('req', at + one),
      clientRequestId: null,
      accountId,
      keyId: key as KeyId,
      operation: 'image-search',
      counted: true,
      at: at + one,
      status,
      code,
      latencyMs: 3,
      address: '203.0.113.7',
      tokens: NO_TOKENS,
      charged: null,
      // Without one, most would be counted on the first of them.
      upstream: { provider: 'seeded', waitingMs: 1, upstreamMs: 1 },
    })
    // The queue of such rows is bounded: what it cannot take is dropped.
    if (one % 8_000 === 7_999) await gateway.core.stores.journal.drained()
  }
  await gateway.core.stores.journal.drained()
}
