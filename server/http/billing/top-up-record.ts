import type { Claim } from '../../core/payments/claim'

/** What has become of a top-up, in words that an owner reads. */
function topUpState({ state, paid }: Pick<Claim, 'state' | 'paid'>): 'pending' | 'paid' | 'failed' {
  if (state === 'released') return 'failed'
  // The money is ours and the balance has it once it is served; until then it will be.
  return state === 'served' && paid ? 'paid' : 'pending'
}

/** A top-up as owners and agents see it: also its receipt. */
export function topUpRecord(claim: Claim) {
  return {
    id: claim.id,
    state: topUpState(claim),
    method: claim.method,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    created_at: new Date(claim.createdAt).toISOString(),
    updated_at: new Date(claim.updatedAt).toISOString(),
  }
}

/** A payment for one request, as operators see it. */
export function paymentRecord(claim: Claim) {
  return {
    id: claim.id,
    state: claim.state,
    method: claim.method,
    operation: claim.operation,
    payer: claim.payer,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    request_id: claim.requestId,
    client_request_id: claim.clientRequestId,
    attempts: claim.attempts,
    error: claim.lastError,
    created_at: new Date(claim.createdAt).toISOString(),
    updated_at: new Date(claim.updatedAt).toISOString(),
  }
}
