import { makeId } from '../../../server/core/ids'
import { micros } from '../../../server/core/money'
import type { NewClaim } from '../../../server/core/payments/claim'
import { NOON, requestId } from '../ledger-parts'

/** A claim on a new credential. */
export function newClaim(more: Partial<NewClaim> = {}): NewClaim {
  const id = makeId('pay', NOON)
  return {
    id,
    key: `challenge-${id}`,
    purpose: 'call',
    operation: 'image-search',
    account: null,
    method: 'tempo',
    payer: `0xpayer-${id}`,
    amount: micros(5000),
    currency: '0x20c0',
    binding: 'a request',
    credentialHash: 'a credential',
    transaction: `0x${id}`,
    validBefore: NOON + 25_000,
    requestId: requestId(),
    clientRequestId: null,
    addressGroup: null,
    leaseUntil: NOON + 1000,
    createdAt: NOON,
    ...more,
  }
}
