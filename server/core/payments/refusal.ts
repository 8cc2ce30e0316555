/** Why a payment was not accepted. Each is also a failure code of the same name. */
export type PaymentRefusalCode =
  | 'malformed_credential'
  | 'invalid_challenge'
  | 'payment_expired'
  | 'invalid_payload'
  | 'verification_failed'
  | 'payment_in_progress'
  | 'payment_pending'
  | 'payment_network_unavailable'
  | 'service_unavailable'
  | 'answer_not_kept'

export interface PaymentRefusal {
  readonly code: PaymentRefusalCode
  /** Shown to the caller. Contains nothing of the credential. */
  readonly reason: string
}

/** The outcome is unknown: only the network can tell. */
export const PENDING: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The network has not yet said whether this payment went through. Send the request again with the same credential; do not pay a second time.',
}

export const IN_PROGRESS: PaymentRefusal = {
  code: 'payment_in_progress',
  reason:
    'Another request with this payment is in progress. Send the request again with the same credential; do not pay a second time.',
}

/** For a caller who has most likely disconnected. */
export const DISCONNECTED: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The connection closed before the response was ready. Send the request again with the same credential; it is paid for.',
}

export const USED: PaymentRefusal = {
  code: 'invalid_challenge',
  reason: 'This credential has already been used.',
}

/** Our fault, not the payer's. */
export const NETWORK: PaymentRefusal = {
  code: 'payment_network_unavailable',
  reason: 'The payment network does not answer. Nothing was charged, and the credential stays valid. Try again later.',
}

/** This gateway is the cause, and not the network. */
export const BUSY: PaymentRefusal = {
  code: 'service_unavailable',
  reason:
    'The gateway is checking as many payments as it can. Nothing was charged, and the credential stays valid. Send the request again with the same credential.',
}

/** The network answers, but this gateway cannot send to it: its relayer has too much to send. */
export const CANNOT_SEND: PaymentRefusal = {
  code: 'service_unavailable',
  reason:
    'The gateway cannot send payments to their network now. Nothing was charged, and the credential stays valid. Send the request again with the same credential.',
}

/** Codes of payments that went through, still may, or stay good. A new challenge would invite the caller to pay twice. */
const MAY_BE_PAID: ReadonlySet<string> = new Set([
  'payment_in_progress',
  'payment_pending',
  'payment_network_unavailable',
  'service_unavailable',
  'answer_not_kept',
] satisfies PaymentRefusalCode[])

/** Whether a response with this refusal may offer a new challenge. */
export function mayOfferAgain(refusal: PaymentRefusal): boolean {
  return !MAY_BE_PAID.has(refusal.code)
}
