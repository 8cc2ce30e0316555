import { isJson } from '../json'
import { type Money, micros } from '../money'
import { err, ok, type Result } from '../result'
import type { UpstreamPayment, WalletTerms } from './upstream-payment'

/** A larger challenge is not read. */
const MAX_CHALLENGE_BYTES = 16 * 1024
/** Networks that x402 version 1 names. */
const NAMED_NETWORKS: Readonly<Record<string, number>> = {
  ...{ base: 8453, 'base-sepolia': 84532, polygon: 137, 'polygon-amoy': 80002 },
  ...{ avalanche: 43114, 'avalanche-fuji': 43113, iotex: 4689, sei: 1329, 'sei-testnet': 1328, ethereum: 1 },
}

interface Challenge {
  readonly version: 1 | 2
  /** The URL that version 2 names once for all offers. */
  readonly resource: unknown
  readonly extensions: unknown
  readonly accepts: readonly Readonly<Record<string, unknown>>[]
}

/** A payment that an upstream asks for, and that the operator allows. */
export interface PaymentOffer {
  readonly challenge: Challenge
  /** As the upstream wrote it. */
  readonly accepted: Readonly<Record<string, unknown>>
  /** Lower case. */
  readonly payee: string
  readonly amount: bigint
  readonly cost: Money
  readonly lifeSeconds: number
}

export interface AllowedPayment {
  readonly terms: WalletTerms
  readonly payees: readonly string[]
  /** The URL that is paid for. */
  readonly url: string
  readonly maximum: Money
  /** What a cost comes to for the caller. */
  readonly priceOf: (cost: Money) => Money
}

/** The x402 challenge of a 402: version 2 in its header, version 1 in its body. */
export function readChallenge(header: string | null, body: Uint8Array): Challenge | null {
  if (body.byteLength > MAX_CHALLENGE_BYTES || (header?.length ?? 0) > MAX_CHALLENGE_BYTES) return null
  const version = header === null ? 1 : 2
  const value = parsed(header === null ? new TextDecoder().decode(body) : Buffer.from(header, 'base64').toString())
  if (!isJson(value) || value['x402Version'] !== version || !Array.isArray(value['accepts'])) return null
  const resource = isJson(value['resource']) ? value['resource']['url'] : undefined
  return { version, resource, extensions: value['extensions'], accepts: value['accepts'].filter(isJson) }
}

/** The first offer that the operator allows and that the hold pays for, or why there is none. */
export function chooseOffer(challenge: Challenge | null, allowed: AllowedPayment): Result<PaymentOffer, string> {
  if (!challenge) return err('its 402 has no x402 challenge')
  const reasons = new Set<string>()
  for (const accepted of challenge.accepts.slice(0, 20)) {
    const offer = validatedOffer(challenge, accepted, allowed)
    if (offer.ok) return offer
    reasons.add(offer.error)
  }
  return err(`no offer of its 402 is allowed: ${[...reasons].join(', ') || 'it has none'}`)
}

/** The header that pays: the signed transfer and what it answers. */
export function paymentHeader(
  { challenge, accepted }: PaymentOffer,
  payment: UpstreamPayment,
  signature: string,
): { readonly name: string; readonly value: string } {
  const authorization = {
    ...{ from: payment.payer, to: payment.payee, value: String(payment.amount) },
    ...{ validAfter: '0', validBefore: String(payment.validBefore), nonce: payment.nonce },
  }
  const { version, resource, extensions } = challenge
  const payload = { signature, authorization }
  const body =
    version === 2
      ? {
          ...{ x402Version: 2, resource: { url: resource }, accepted, payload },
          ...(extensions !== undefined && { extensions }),
        }
      : { x402Version: 1, scheme: 'exact', network: accepted['network'], payload }
  const name = version === 2 ? 'payment-signature' : 'x-payment'
  return { name, value: Buffer.from(JSON.stringify(body)).toString('base64') }
}

function validatedOffer(
  challenge: Challenge,
  accepted: Readonly<Record<string, unknown>>,
  { terms, payees, url, maximum, priceOf }: AllowedPayment,
): Result<PaymentOffer, string> {
  const { scheme, network, asset, payTo, maxTimeoutSeconds } = accepted
  const written = challenge.version === 2 ? accepted['amount'] : accepted['maxAmountRequired']
  const resource = challenge.version === 2 ? challenge.resource : accepted['resource']
  if (scheme !== 'exact') return err('another scheme')
  if (chainOf(network) !== terms.chainId) return err('another chain')
  if (lower(asset) !== terms.token) return err('another token')
  const payee = lower(payTo)
  if (payee === null || !payees.some((one) => one.toLowerCase() === payee)) return err('another payee')
  if (!isSameResource(resource, url)) return err('another resource')
  if (typeof written !== 'string' || !/^[1-9]\d{0,29}$/.test(written)) return err('no amount')
  if (typeof maxTimeoutSeconds !== 'number' || !(maxTimeoutSeconds >= 1)) return err('no lifetime')
  const amount = BigInt(written)
  const cost = costOf(amount, terms.decimals)
  if (cost === null || priceOf(cost) > maximum) return err('more than the hold of the call')
  return ok({ challenge, accepted, payee, amount, cost, lifeSeconds: Math.floor(Math.min(maxTimeoutSeconds, 86_400)) })
}

function chainOf(network: unknown): number | null {
  if (typeof network !== 'string') return null
  const [, id] = /^eip155:([1-9]\d{0,9})$/.exec(network) ?? []
  if (id !== undefined) return Number(id)
  return Object.hasOwn(NAMED_NETWORKS, network) ? (NAMED_NETWORKS[network] ?? null) : null
}

/** The same URL, or the same without its query, which some upstreams leave out. */
function isSameResource(resource: unknown, url: string): boolean {
  const named = typeof resource === 'string' ? URL.parse(resource) : null
  if (!named) return false
  const asked = new URL(url)
  const hasSameQuery = named.search === '' || named.search === asked.search
  return named.host === asked.host && named.pathname === asked.pathname && hasSameQuery
}

/** In micro-USD, rounded up. Null: beyond any price. */
function costOf(amount: bigint, decimals: number): Money | null {
  const unit = 10n ** BigInt(decimals - 6)
  const cost = (amount + unit - 1n) / unit
  return cost > BigInt(Number.MAX_SAFE_INTEGER) ? null : micros(Number(cost))
}

function lower(value: unknown): string | null {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value) ? value.toLowerCase() : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
