import { KEY_REFUSALS } from '../keys/key-failures'
import { PAYMENT_FAILURES } from '../openapi/body-failures'
import type { EndpointDocs } from '../openapi/documented'
import { NewWalletTopUp, PaidTopUp } from './record'

export const WALLET_DOCS = {
  topUp: {
    id: 'walletTopUp',
    tag: 'Usage',
    summary: 'Top up with a payment challenge',
    description:
      'For agents with a wallet. Without a payment it returns 402 with a challenge for the amount. Send the credential in `Payment-Authorization` together with the key, or alone in `Authorization: Payment`; send an x402 payment in `PAYMENT-SIGNATURE` (version 1: `X-PAYMENT`) together with the key. Repeating the request with the same credential returns the same top-up and charges nothing more. The first top-up moves the account to Starter.',
    body: {
      description: 'The amount.',
      schema: NewWalletTopUp,
      required: true,
      examples: { ten: { amount: '10.00' } },
    },
    answers: {
      201: { description: 'Paid and added to the balance. `Payment-Receipt` is the proof.', schema: PaidTopUp },
      200: { description: 'Already paid by an earlier request with the same credential.', schema: PaidTopUp },
    },
    failures: [
      'missing_api_key',
      ...KEY_REFUSALS,
      'invalid_parameter',
      'json_parse_error',
      'request_timeout',
      'payload_too_large',
      'unsupported_media_type',
      ...PAYMENT_FAILURES,
      'payment_in_progress',
      'answer_not_kept',
      'payment_pending',
      'payment_network_unavailable',
      'rate_limit_exceeded',
      'internal_error',
      'service_unavailable',
    ],
  },
} as const satisfies Readonly<Record<string, EndpointDocs>>
