import { CATALOG_VERSION, type PriceName } from '../../core/catalog/operation'
import { operatorPrice, type PriceStore } from '../../core/catalog/prices'
import { type Money, parseUsd } from '../../core/money'
import { mcpServerJson } from '../../core/payments/publication'
import type { OpenApiDocument, OpenApiOperation } from './open-api'

/** One way to pay for a single call, in the discovery format of the `Payment` scheme. The 402 challenge is authoritative. */
export interface PaymentWay {
  readonly method: string
  readonly intent: 'charge'
  /** In the token's smallest unit; for `upto` the maximum. */
  readonly amount: string
  /** Address of the token's contract. */
  readonly currency: string
  /** The other protocol that accepts the same offer, and how. */
  readonly alsoBy: string | null
}

const DESCRIPTION = 'Use an API key or this payment.'

function offerOf({ alsoBy, ...way }: PaymentWay) {
  return { ...way, description: alsoBy === null ? DESCRIPTION : `${DESCRIPTION} ${alsoBy}.` }
}

/** `server.json` of the MCP registry. */
export const mcpServer = (origin: string) => mcpServerJson(origin, CATALOG_VERSION)

/**
 * `/.well-known/x402`, which directories of x402 read: what can be called without a key and paid for by x402. Templated paths are left out,
 * because they cannot be called as they are.
 */
export function x402Resources({ paths }: OpenApiDocument, origin: string) {
  const resources = Object.entries(paths).flatMap(([path, item]) => {
    const offers = Object.values(item).flatMap((operation) => operation['x-payment-info']?.offers ?? [])
    const isPayable = offers.some(({ method }) => method === 'evm' || method === 'upto') && !path.includes('{')
    return isPayable ? [origin + path] : []
  })
  const instructions = `Each resource answers 402 with its price. Parameters: ${origin}/openapi.json. For agents: ${origin}/llms.txt.`
  return { version: 1, resources, instructions }
}

interface Pricing {
  readonly waysFor: (amount: Money, least?: Money) => Promise<readonly PaymentWay[]>
  /** The fixed price that the operator set for everybody; null if the catalog's is valid. */
  readonly setPrice: (operation: string) => Money | null
}

export type PriceLookup = Pick<PriceStore, 'all' | 'newest'>

/** Prices for callers without an account. `version` changes with each price that the operator sets for everybody. */
export function pricingOf(payments: Pick<Pricing, 'waysFor'>, prices: PriceLookup) {
  return {
    waysFor: (amount: Money, least?: Money) => payments.waysFor(amount, least),
    // The document names what can be priced.
    setPrice: (operation: string) => operatorPrice(prices, operation as PriceName, null)?.amount ?? null,
    version: () =>
      prices
        .all()
        .filter(({ accountId }) => accountId === null)
        .map(({ id }) => id)
        .join(),
  }
}

/**
 * The document with what wallets look for: the service (`x-service-info`), and the price of each call per payment method, as callers without
 * an account pay it.
 */
export async function withPaymentOffers(
  document: OpenApiDocument,
  { waysFor, setPrice }: Pricing,
): Promise<OpenApiDocument> {
  const offered = async (operation: OpenApiOperation): Promise<OpenApiOperation> => {
    const { minimum = null, maximum = '' } = operation['x-price-limits'] ?? {}
    const least = minimum === null ? null : parseUsd(minimum)
    const { 'x-price': fixed, 'x-operation': name, 'x-api-price': imported } = operation
    // Imported operations are documented with the price that was set for them.
    const set = fixed && name !== undefined && imported === undefined ? setPrice(name) : null
    const amount = set ?? parseUsd(fixed?.amount ?? maximum)
    // Only operations that can be called without a key accept payments.
    const isPayable = operation.security.some((way) => Object.keys(way).length === 0)
    const ways = amount !== null && amount > 0 && isPayable ? await waysFor(amount, least ?? undefined) : []
    if (ways.length === 0) return operation
    return { ...operation, 'x-payment-info': { offers: ways.map(offerOf) } }
  }
  const paths = await Promise.all(
    Object.entries(document.paths).map(async ([path, item]) => {
      const operations = Object.entries(item).map(
        async ([method, operation]) => [method, await offered(operation)] as const,
      )
      return [path, Object.fromEntries(await Promise.all(operations))] as const
    }),
  )
  return {
    ...document,
    'x-service-info': {
      categories: ['data', 'search', 'ai'],
      docs: { apiReference: '/docs', homepage: '/', llms: '/llms.txt' },
    },
    paths: Object.fromEntries(paths),
  }
}
