import { Errors } from 'mppx'
import { NETWORK, type PaymentRefusal, type PaymentRefusalCode } from '../../../core/payments/refusal'
import { isNodeTrouble } from './chain/node-trouble'

const CODES: Readonly<Record<string, PaymentRefusalCode>> = {
  'malformed-credential': 'malformed_credential',
  'invalid-challenge': 'invalid_challenge',
  'payment-expired': 'payment_expired',
  'invalid-payload': 'invalid_payload',
}

/**
 * Maps an exception of the library to a refusal. A dead or slow node is our problem, not the payer's: no new challenge is sent, so that
 * no payer pays twice, and the credential stays valid. An error about the transfer itself is the payer's.
 */
export function paymentRefusal(error: unknown): PaymentRefusal {
  if (isNodeTrouble(error)) return NETWORK
  if (error instanceof Errors.PaymentError) {
    const code = CODES[error.type.split('/').at(-1) ?? ''] ?? 'verification_failed'
    return { code, reason: firstLine(error.message) }
  }
  // The payload's schema throws its own library's error.
  if (error instanceof Error && /^\$?Zod/.test(error.constructor.name + error.name))
    return {
      code: 'invalid_payload',
      reason: 'The credential does not have the form that its payment method requires.',
    }
  return { code: 'verification_failed', reason: `The payment would fail: ${chainReason(error)}` }
}

/** viem's error in one line, without the request that it includes. */
export function chainReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const short: unknown = Reflect.get(error, 'shortMessage')
  const details: unknown = Reflect.get(error, 'details')
  return [short ?? error.message, details]
    .filter((part) => typeof part === 'string')
    .map(firstLine)
    .join(' ')
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}
