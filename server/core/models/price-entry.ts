import { fromUsdNumber, type Money, micros } from '../money'
import { BadEntry, entryMembers } from './bad-entry'
import type { Model } from './model'
import { MAX_NAMES, MAX_PRICE, PRICE_MEMBERS, SIZE_NAME, UNIT_PRICE_MEMBERS } from './model-file-schema'
import type { TokenPrice } from './token-price'
import type { CharacterPrice, ImagePrice, ModelPrice, SizePrice } from './unit-price'

/** A price as an operator writes it: per million tokens, per million characters, or per picture. */
export type PriceEntry =
  | TokenPriceEntry
  | { readonly characters: number }
  | { readonly images: number | readonly SizeEntry[] }

/** USD per million tokens. */
interface TokenPriceEntry {
  readonly input: number
  readonly output: number
  readonly cache_read?: number
  readonly cache_write?: number
  /** Cache writes with a lifetime of one hour. Defaults to twice the input price for Anthropic. */
  readonly cache_write_1h?: number
}

/** A picture of this size and quality. A call that names neither gets the first of the list. */
interface SizeEntry {
  readonly size?: string
  readonly quality?: string
  readonly usd: number
}

const MILLION = 1_000_000

type Priced = Pick<Model, 'id' | 'purpose' | 'upstreams'>

/** The price of an entry; throws a `BadEntry`. */
export function modelPriceOf(value: unknown, model: Priced): ModelPrice {
  const { id, purpose, upstreams } = model
  if (value === undefined) throw new BadEntry(`${id}: price is missing; for a free model, set it to 0`)
  if (purpose === 'text' || purpose === 'embeddings') return tokenPrice(value, model)
  if (upstreams.some(({ kind }) => kind !== 'openai'))
    throw new BadEntry(`${id}: an upstream for ${purpose} must be of the kind openai`)
  return purpose === 'images' ? imagePrice(value, id) : characterPrice(value, id)
}

/** The price at which the operator buys, by the same rules. */
export function purchasePriceOf(value: unknown, model: Priced): ModelPrice {
  try {
    return modelPriceOf(value, model)
  } catch (error) {
    throw error instanceof BadEntry ? new BadEntry(`purchase_price: ${error.message}`) : error
  }
}

function tokenPrice(value: unknown, { id, upstreams }: Priced): TokenPrice {
  const entry = entryMembers(value, `the price of ${id}`, PRICE_MEMBERS)
  const usd = (name: string): Money | null =>
    entry[name] === undefined ? null : amountOf(entry[name], `${id}: price.${name}`, 'per million tokens')
  const input = usd('input')
  const output = usd('output')
  if (input === null || output === null)
    throw new BadEntry(`${id}: price needs input and output; for a free model, set both to 0`)
  const cacheWrite = usd('cache_write')
  const isAnthropic = upstreams.some(({ kind }) => kind === 'anthropic')
  if (cacheWrite === null && isAnthropic)
    throw new BadEntry(`${id}: price needs cache_write, because Anthropic charges more for it than for input`)
  const hour = usd('cache_write_1h') ?? (isAnthropic ? micros(2 * input) : null)
  const price = { input, output, cacheRead: usd('cache_read') ?? input, cacheWrite: cacheWrite ?? input }
  return hour === null ? price : { ...price, cacheWriteHour: hour }
}

function characterPrice(value: unknown, id: string): CharacterPrice {
  const { characters } = entryMembers(value, `the price of ${id}`, { characters: UNIT_PRICE_MEMBERS.characters })
  return { unit: 'character', amount: amountOf(characters, `${id}: price.characters`, 'per million characters') }
}

function imagePrice(value: unknown, id: string): ImagePrice {
  const { images } = entryMembers(value, `the price of ${id}`, { images: UNIT_PRICE_MEMBERS.images })
  if (!Array.isArray(images))
    return { unit: 'image', amount: amountOf(images, `${id}: price.images`, 'per picture'), sizes: [] }
  if (images.length === 0 || images.length > MAX_NAMES)
    throw new BadEntry(`${id}: price.images must be a number of USD, or a list of 1 to ${MAX_NAMES} sizes`)
  const sizes = images.map((one) => sizePrice(one, id))
  const twice = sizes.find(({ size, quality }, i) =>
    sizes.some((other, at) => at < i && other.size === size && other.quality === quality),
  )
  if (twice) throw new BadEntry(`${id}: price.images lists the same size and quality twice`)
  return { unit: 'image', amount: null, sizes }
}

function sizePrice(value: unknown, id: string): SizePrice {
  const entry = entryMembers(value, `an element of price.images of ${id}`, { size: null, quality: null, usd: null })
  const named = (name: string): string | null => {
    const given = entry[name]
    if (given === undefined) return null
    if (typeof given !== 'string' || !SIZE_NAME.test(given))
      throw new BadEntry(`${id}: price.images: ${name} must be a name such as 1024x1024 or hd`)
    return given
  }
  return {
    size: named('size'),
    quality: named('quality'),
    amount: amountOf(entry['usd'], `${id}: price.images: usd`, 'per picture'),
  }
}

function amountOf(value: unknown, what: string, unit: string): Money {
  const amount = typeof value === 'number' ? fromUsdNumber(value) : null
  if (amount === null || amount > MAX_PRICE * MILLION)
    throw new BadEntry(`${what} must be a number of USD ${unit}, with at most 6 decimals`)
  return amount
}
