import { isJson, parsedJson } from '../../json'
import { chainInV1 } from '../../x402-networks'
import { type AskedPayment, authorizationText, paymentSecrets } from './upstream-payment'

/** A larger challenge is not read. */
const MAX_CHALLENGE_BYTES = 16 * 1024

interface Challenge {
  readonly version: 1 | 2
  /** The part of version 2 for all offers, echoed with the payment. */
  readonly resource: unknown
  readonly extensions: unknown
}

/** The demands of a 402 by x402: version 2 in its header, version 1 in its body. Empty if it does not. */
export function readX402(header: string | null, body: Uint8Array): readonly AskedPayment[] {
  const version = header === null ? 1 : 2
  const text = header === null ? bodyText(body) : headerText(header)
  const value = text === null ? null : parsedJson(text)
  if (!isJson(value) || value['x402Version'] !== version || !Array.isArray(value['accepts'])) return []
  const challenge = { version, resource: value['resource'], extensions: value['extensions'] } as const
  return value['accepts'].filter(isJson).map((accepted) => askedBy(challenge, accepted))
}

/** The transaction that the answer to a paid request names (`PAYMENT-RESPONSE`, `X-PAYMENT-RESPONSE`), or null. */
export function readX402Receipt(header: string): string | null {
  const text = headerText(header)
  const value = text === null ? null : parsedJson(text)
  const transaction = isJson(value) && value['success'] === true ? value['transaction'] : null
  return typeof transaction === 'string' && /^0x[0-9a-fA-F]{64}$/.test(transaction) ? transaction : null
}

function askedBy(challenge: Challenge, accepted: Readonly<Record<string, unknown>>): AskedPayment {
  const isSecond = challenge.version === 2
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = accepted
  const named = isJson(challenge.resource) ? challenge.resource['url'] : undefined
  return {
    problem: problemOf(scheme, extra),
    kind: 'eip3009',
    chainId: chainOf(network),
    token: asset,
    payee: payTo,
    amount: isSecond ? accepted['amount'] : accepted['maxAmountRequired'],
    lifeSeconds: maxTimeoutSeconds,
    nonce: null,
    isFor: (url) => isSameResource(isSecond ? named : accepted['resource'], url),
    async header(payment, wallet) {
      const signature = await wallet.sign(payment)
      const payload = { signature, authorization: authorizationText(payment) }
      const { resource, extensions } = challenge
      const paid = isSecond
        ? { x402Version: 2, resource, accepted, payload, ...(extensions !== undefined && { extensions }) }
        : { x402Version: 1, scheme, network, payload }
      const value = Buffer.from(JSON.stringify(paid)).toString('base64')
      return { name: isSecond ? 'payment-signature' : 'x-payment', value, secrets: paymentSecrets(value, signature) }
    },
  }
}

/** Tokens may also be transferred by Permit2, which needs a payment of another form. */
function problemOf(scheme: unknown, extra: unknown): string | null {
  if (scheme !== 'exact') return 'another scheme'
  const how = isJson(extra) ? extra['assetTransferMethod'] : undefined
  return how === undefined || how === 'eip3009' ? null : 'another way to transfer'
}

function chainOf(network: unknown): number | null {
  if (typeof network !== 'string') return null
  const [, id] = /^eip155:([1-9]\d{0,9})$/.exec(network) ?? []
  if (id !== undefined) return Number(id)
  return chainInV1(network)
}

/** The same URL, or the same without its query, which some upstreams leave out. Behind a proxy, an upstream may call itself http. */
function isSameResource(resource: unknown, asked: URL): boolean {
  const named = typeof resource === 'string' ? URL.parse(resource) : null
  if (!named || !/^https?:$/.test(named.protocol)) return false
  const hasSameQuery = named.search === '' || named.search === asked.search
  return named.host === asked.host && named.pathname === asked.pathname && hasSameQuery
}

function bodyText(body: Uint8Array): string | null {
  return body.byteLength > MAX_CHALLENGE_BYTES ? null : new TextDecoder().decode(body)
}

/** Two headers of one name arrive joined by a comma, which is not base64: which of them was meant is unknown. */
function headerText(header: string): string | null {
  if (header.length > MAX_CHALLENGE_BYTES || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(header)) return null
  return Buffer.from(header, 'base64').toString()
}
