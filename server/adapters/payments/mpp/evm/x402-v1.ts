import type { Terms } from '../../../../core/payments/method'
import { outputSchemaInV1 } from '../discovery'
import type { EvmCredential } from './evm-credential'

/** An entry of `accepts` in an x402 offer of version 2. */
export interface Accepted {
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** The part of a 402's body for clients of version 1, from an offer of version 2. */
export function offerInV1(
  network: string,
  { amount, asset, payTo, maxTimeoutSeconds, extra: { name, version } }: Accepted,
  terms: Terms,
  url: string,
): Readonly<Record<string, unknown>> {
  const requirement = {
    ...{ scheme: 'exact', network, maxAmountRequired: amount, resource: url },
    ...{ description: terms.description, mimeType: 'application/json', outputSchema: outputSchemaInV1(terms) },
    ...{ payTo, maxTimeoutSeconds, asset, extra: { name, version } },
  }
  return { x402Version: 1, accepts: [requirement] }
}

/** The payment that a client of version 2 would send with this authorization, as header text. */
export function paymentInV2({ authorization }: EvmCredential, accepted: Accepted, url: string): string {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization
  const signed = {
    ...{ from, to, nonce, value: String(value) },
    ...{ validAfter: String(validAfter), validBefore: String(validBefore) },
  }
  const payment = { x402Version: 2, accepted, resource: { url }, payload: { signature, authorization: signed } }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}
