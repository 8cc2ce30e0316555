import { isJson } from '../json'
import { fromUsdNumber, type Money, micros } from '../money'
import { BadEntry, entryMembers } from './bad-entry'
import type { Model, ModelUpstream } from './model'
import {
  MAX_COUNT,
  MAX_NAMES,
  MAX_PRICE,
  MAX_RULES,
  PRICE_MEMBERS,
  RATE_NAMES,
  SIZE_NAME,
  TIER_NAME,
  TOOL_NAME,
  TOOL_PRICE_MEMBERS,
  UNIT_PRICE_MEMBERS,
  USUAL_TIERS,
} from './model-file-schema'
import type { TokenKind, TokenPart } from './model-tokens'
import type { PriceRule, TokenPrice, TokenRates, ToolPrice } from './token-price'
import {
  COUNTED_UNITS,
  type CountedUnit,
  type CountPrice,
  type ImagePrice,
  type ModelPrice,
  type SizePrice,
} from './unit-price'

/** A price as an operator writes it: per million tokens, characters or seconds, per search, or per picture. */
export type PriceEntry =
  | RuleEntry
  /** The first rule that a call meets is its price. The last one has no condition. */
  | readonly RuleEntry[]
  | { readonly characters: number }
  | { readonly seconds: number }
  | { readonly searches: number }
  | { readonly images: number | readonly SizeEntry[]; readonly edits?: number }

/** USD per million tokens, and the conditions under which they count. */
export interface RuleEntry extends Readonly<Partial<Record<TokenPart, number>>> {
  /** Only calls with more input tokens. */
  readonly above?: number
  /** Only calls that the vendor served at this tier. */
  readonly tier?: string
  readonly input: number
  readonly output: number
  readonly cache_read?: number
  readonly cache_write?: number
  /** USD per call. Default: that of the last rule. */
  readonly request?: number
  /** USD per use of a tool that the vendor runs. Default: those of the last rule. */
  readonly tools?: Readonly<Record<string, number | { readonly usd: number; readonly input_tokens?: number }>>
}

/** A picture of this size and quality. A call that names neither gets the first of the list. */
interface SizeEntry {
  readonly size?: string
  readonly quality?: string
  readonly usd: number
}

const MILLION = 1_000_000

type Priced = Pick<Model, 'id' | 'purpose'> & { readonly upstreams: readonly Pick<ModelUpstream, 'kind'>[] }

/** The price of an entry; throws a `BadEntry`. */
export function modelPriceOf(value: unknown, model: Priced): ModelPrice {
  const { id, purpose, upstreams } = model
  if (value === undefined) throw new BadEntry(`${id}: price is missing; for a free model, set it to 0`)
  if (purpose === 'text' || purpose === 'embeddings') return tokenPrice(value, model)
  if (upstreams.some(({ kind }) => kind !== 'openai'))
    throw new BadEntry(`${id}: an upstream for ${purpose} must be of the kind openai`)
  if (purpose === 'images') return imagePrice(value, id)
  if (purpose !== 'rerank') return countPrice(value, id, purpose === 'transcription' ? 'second' : 'character')
  // Some vendors count searches, others the tokens that they read.
  return isJson(value) && 'searches' in value ? countPrice(value, id, 'search') : tokenPrice(value, model)
}

/** The price of an entry of a sheet; null if it lacks what a model of this kind must have. */
export function priceOrNull(entry: PriceEntry, model: Priced): ModelPrice | null {
  try {
    return modelPriceOf(entry, model)
  } catch (error) {
    if (error instanceof BadEntry) return null
    throw error
  }
}

/** The price at which the operator buys, by the same rules. */
export function purchasePriceOf(value: unknown, model: Priced): ModelPrice {
  try {
    return modelPriceOf(value, model)
  } catch (error) {
    throw error instanceof BadEntry ? new BadEntry(`purchase_price: ${error.message}`) : error
  }
}

function tokenPrice(value: unknown, model: Priced): TokenPrice {
  if (!Array.isArray(value)) return tokenPrice([value], model)
  const { id } = model
  if (value.length === 0 || value.length > MAX_RULES)
    throw new BadEntry(`${id}: price must be an object, or a list of 1 to ${MAX_RULES} rules`)
  const rules = value.map((one) => ruleOf(one, model))
  const open = rules.findIndex(({ above, tier }) => above === undefined && tier === undefined)
  if (open !== rules.length - 1)
    throw new BadEntry(`${id}: the last rule of price, and only that, must have neither above nor tier`)
  // Fees depend on neither, so they need not be repeated.
  const { request, tools } = rules[open] ?? {}
  return rules.map((rule) => ({ ...(request !== undefined && { request }), ...(tools && { tools }), ...rule }))
}

function ruleOf(value: unknown, { id, purpose, upstreams }: Priced): PriceRule {
  const entry = entryMembers(value, `the price of ${id}`, PRICE_MEMBERS)
  const { above, tier, tools } = entry
  if (above !== undefined && (!Number.isSafeInteger(above) || Number(above) < 1 || Number(above) > MAX_COUNT))
    throw new BadEntry(`${id}: price.above must be a number of input tokens above 0`)
  if (tier !== undefined && (typeof tier !== 'string' || !TIER_NAME.test(tier) || USUAL_TIERS.has(tier)))
    throw new BadEntry(
      `${id}: price.tier must be a name such as priority or flex; rules without tier are for the usual one`,
    )
  return {
    ...(above !== undefined && { above: Number(above) }),
    ...(tier !== undefined && { tier }),
    rates: ratesOf(entry, { id, purpose, upstreams }),
    ...(entry['request'] !== undefined && { request: amountOf(entry['request'], `${id}: price.request`, 'per call') }),
    ...(tools !== undefined && { tools: toolsOf(tools, id) }),
  }
}

/** What vendors charge at most, as multiples of the input price, for writing to a cache: for minutes, and for longer. */
const WRITE = { minutes: 1.25, longer: 2 } as const

function ratesOf(entry: Readonly<Record<string, unknown>>, { id, purpose, upstreams }: Priced): TokenRates {
  const usd: Partial<Record<TokenKind | TokenPart, Money>> = {}
  for (const name of RATE_NAMES)
    if (entry[name] !== undefined) usd[name] = amountOf(entry[name], `${id}: price.${name}`, 'per million tokens')
  const { input, output, cache_read = input, ...others } = usd
  if (others.input_audio !== undefined) others.cache_read_audio ??= others.input_audio
  if (input === undefined || output === undefined || cache_read === undefined)
    throw new BadEntry(`${id}: price needs input and output; for a free model, set both to 0`)
  if (others.cache_write === undefined && upstreams.some(({ kind }) => kind === 'anthropic'))
    throw new BadEntry(`${id}: price needs cache_write, because Anthropic charges more for it than for input`)
  // Google bills no writes, and nobody caches what is embedded.
  if (purpose !== 'text' || upstreams.every(({ kind }) => kind === 'gemini'))
    return { input, output, cache_read, cache_write: input, ...others }
  const cache_write = others.cache_write ?? micros(Math.ceil(WRITE.minutes * input))
  const cache_write_1h = others.cache_write_1h ?? micros(Math.max(cache_write, WRITE.longer * input))
  const cache_write_12h = others.cache_write_12h ?? micros(Math.max(cache_write_1h, WRITE.longer * input))
  return { input, output, cache_read, ...others, cache_write, cache_write_1h, cache_write_12h }
}

function toolsOf(value: unknown, id: string): Readonly<Record<string, ToolPrice>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length > MAX_NAMES)
    throw new BadEntry(`${id}: price.tools must be an object of at most ${MAX_NAMES} tools`)
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      if (!TOOL_NAME.test(name))
        throw new BadEntry(`${id}: price.tools names a tool such as web_search, without its date`)
      return [name, toolPrice(one, `${id}: price.tools.${name}`)]
    }),
  )
}

function toolPrice(value: unknown, what: string): ToolPrice {
  if (typeof value === 'number') return { amount: amountOf(value, what, 'per use'), inputTokens: null }
  const { usd, input_tokens: tokens } = entryMembers(value, what, TOOL_PRICE_MEMBERS)
  if (tokens !== undefined && (!Number.isSafeInteger(tokens) || Number(tokens) < 1 || Number(tokens) > MAX_COUNT))
    throw new BadEntry(`${what}: input_tokens must be an integer above 0`)
  return { amount: amountOf(usd, `${what}: usd`, 'per use'), inputTokens: tokens === undefined ? null : Number(tokens) }
}

function countPrice(value: unknown, id: string, unit: CountedUnit): CountPrice {
  const { item, per } = COUNTED_UNITS[unit]
  const { [item]: usd } = entryMembers(value, `the price of ${id}`, { [item]: UNIT_PRICE_MEMBERS[item] })
  return { unit, amount: amountOf(usd, `${id}: price.${item}`, per === 1 ? `per ${unit}` : `per million ${item}`) }
}

const IMAGE_MEMBERS = { images: UNIT_PRICE_MEMBERS.images, edits: UNIT_PRICE_MEMBERS.edits }

function imagePrice(value: unknown, id: string): ImagePrice {
  const { images, edits: sent } = entryMembers(value, `the price of ${id}`, IMAGE_MEMBERS)
  const edits = sent === undefined ? {} : { edits: amountOf(sent, `${id}: price.edits`, 'per picture') }
  if (!Array.isArray(images))
    return { unit: 'image', amount: amountOf(images, `${id}: price.images`, 'per picture'), sizes: [], ...edits }
  if (images.length === 0 || images.length > MAX_NAMES)
    throw new BadEntry(`${id}: price.images must be a number of USD, or a list of 1 to ${MAX_NAMES} sizes`)
  const sizes = images.map((one) => sizePrice(one, id))
  const twice = sizes.find(({ size, quality }, i) =>
    sizes.some((other, at) => at < i && other.size === size && other.quality === quality),
  )
  if (twice) throw new BadEntry(`${id}: price.images lists the same size and quality twice`)
  return { unit: 'image', amount: null, sizes, ...edits }
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
