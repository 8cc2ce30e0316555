import type { Terms } from '../../../core/payments/method'
import { outputSchemaInV1 } from './discovery'
import type { EvmCredential } from './evm-credential'

/** An entry of `accepts` in an x402 offer of version 2. */
export interface Accepted {
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** How version 1 names networks. Its clients refuse offers with any other name. */
const NETWORKS: Readonly<Record<number, string>> = {
  137: 'polygon',
  1328: 'sei-testnet',
  1329: 'sei',
  1514: 'story',
  2741: 'abstract',
  3338: 'peaq',
  4689: 'iotex',
  8453: 'base',
  11124: 'abstract-testnet',
  41923: 'educhain',
  43113: 'avalanche-fuji',
  43114: 'avalanche',
  80002: 'polygon-amoy',
  84532: 'base-sepolia',
  324705682: 'skale-base-sepolia',
}

/** The name of a network in version 1; null when version 1 cannot name it. */
export function networkInV1(chainId: number): string | null {
  return NETWORKS[chainId] ?? null
}

/** What a 402 tells clients of version 1, in its body, from an offer of version 2. */
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
