/** Why a payment was not taken. Each is a failure code of the same name. */
export type PaymentRefusalCode =
  | 'malformed_credential'
  | 'invalid_challenge'
  | 'payment_expired'
  | 'invalid_payload'
  | 'verification_failed'
  | 'payment_in_progress'
  | 'payment_pending'
  | 'payment_network_unavailable'
  | 'answer_not_kept'

export interface PaymentRefusal {
  readonly code: PaymentRefusalCode
  /** For the caller; holds nothing of the credential. */
  readonly reason: string
}

/** Its fate is open: only the network knows. */
export const PENDING: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The network has not yet said whether this payment went through. Ask again with the same credential; do not pay a second time.',
}

export const IN_PROGRESS: PaymentRefusal = {
  code: 'payment_in_progress',
  reason: 'This payment is being worked on. Ask again with the same credential; do not pay a second time.',
}

/** For a caller who has most likely left. */
export const KEPT: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The connection closed before the answer was ready. Ask again with the same credential; it has been paid for.',
}

export const USED: PaymentRefusal = {
  code: 'invalid_challenge',
  reason: 'This credential has already been used.',
}

/** Our trouble, not the payer's. */
export const NETWORK: PaymentRefusal = {
  code: 'payment_network_unavailable',
  reason: 'The payment network does not answer. Nothing was charged; the credential stays good.',
}

/** Codes of a payment that may still happen, or has: a challenge beside them would invite to pay twice. */
const FATE_OPEN: ReadonlySet<string> = new Set([
  'payment_in_progress',
  'payment_pending',
  'payment_network_unavailable',
  'answer_not_kept',
] satisfies PaymentRefusalCode[])

/** Whether a new challenge may stand beside this refusal. */
export function mayOfferAgain(refusal: PaymentRefusal): boolean {
  return !FATE_OPEN.has(refusal.code)
}
