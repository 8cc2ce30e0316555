import { isJson, type Json, membersOf } from '../json'
import type { Model, ModelPurpose, ModelUpstream } from './model'
import type { TokenKind, TokenPart } from './model-tokens'
import type { PriceEntry, RuleEntry } from './price-entry'

/**
 * Prices of vendors in the format of LiteLLM's `model_prices_and_context_window.json`: entries by the name of a model, with USD
 * per token in members such as `input_cost_per_token_above_200k_tokens_priority`.
 */
export type PriceSheet = Readonly<Record<string, unknown>>

/** A vendor's price of a model, and the entry of the sheet that it is from. */
export interface VendorPrice {
  readonly name: string
  readonly price: PriceEntry
  /** The most tokens of a call; absent if the sheet does not say. */
  readonly contextTokens?: number
  readonly maxOutputTokens?: number
}

/** The names of vendors in a sheet, by the hosts of their OpenAI-compatible APIs. Names of OpenAI's own models have no prefix. */
const VENDORS: Readonly<Record<string, string>> = {
  'api.openai.com': 'openai',
  'api.groq.com': 'groq',
  'api.mistral.ai': 'mistral',
  'api.deepseek.com': 'deepseek',
  'api.x.ai': 'xai',
  'api.together.xyz': 'together_ai',
  'api.fireworks.ai': 'fireworks_ai',
  'api.moonshot.ai': 'moonshot',
  'api.cerebras.ai': 'cerebras',
  'api.deepinfra.com': 'deepinfra',
  'api.perplexity.ai': 'perplexity',
  'api.z.ai': 'zai',
  'dashscope-intl.aliyuncs.com': 'dashscope',
  'api.cohere.com': 'cohere',
  'api.jina.ai': 'jina_ai',
}

type SheetUpstream = Pick<ModelUpstream, 'kind' | 'baseUrl' | 'model'>

/** The entries that may be of an upstream's model, and its vendor. */
function namesOf({
  kind,
  baseUrl,
  model,
}: SheetUpstream): { readonly vendor: string; readonly names: readonly string[] } | null {
  const vendor = kind === 'openai' ? VENDORS[URL.parse(baseUrl)?.hostname ?? ''] : kind
  return vendor === undefined ? null : { vendor, names: [model, `${vendor}/${model}`] }
}

/** The newest prices of vendors that the gateway has: those of its version, and of a sheet that it read since. */
export class CurrentSheet {
  /** The day of the prices is in `$date`. */
  prices: PriceSheet

  constructor(prices: PriceSheet) {
    this.prices = prices
  }

  /** Takes what a newer sheet says about the models on sale. The rest of it, which is large, is not kept. */
  take(newer: PriceSheet, models: readonly Model[], day: string): void {
    const names = models.flatMap(({ upstreams }) => upstreams.flatMap((upstream) => namesOf(upstream)?.names ?? []))
    const known = names.filter((name) => Object.hasOwn(newer, name))
    this.prices = { ...this.prices, ...Object.fromEntries(known.map((name) => [name, newer[name]])), $date: day }
  }
}

/** What the vendor of an upstream charges for its model. Null if the sheet has no price for it, such as for a server of one's own. */
export function vendorPrice(sheet: PriceSheet, upstream: SheetUpstream, purpose: ModelPurpose): VendorPrice | null {
  const known = namesOf(upstream)
  for (const name of known?.names ?? []) {
    const entry = Object.hasOwn(sheet, name) ? sheet[name] : null
    if (!isJson(entry) || entry['litellm_provider'] !== known?.vendor) continue
    const price = priceOf(entry, purpose)
    if (price) return { name, price, ...tokenLimits(entry) }
  }
  return null
}

const PURPOSES: Readonly<Record<string, ModelPurpose>> = {
  embedding: 'embeddings',
  audio_speech: 'speech',
  audio_transcription: 'transcription',
  rerank: 'rerank',
}

/** What the vendor has a model for; text if the sheet does not say. */
export function sheetPurpose(sheet: PriceSheet, upstream: SheetUpstream): ModelPurpose {
  const entries = namesOf(upstream)?.names.map((name) => (Object.hasOwn(sheet, name) ? membersOf(sheet[name]) : {}))
  const mode = entries?.find((entry) => entry['mode'] !== undefined)?.['mode']
  return (typeof mode === 'string' && Object.hasOwn(PURPOSES, mode) && PURPOSES[mode]) || 'text'
}

function tokenLimits(entry: Json): Pick<VendorPrice, 'contextTokens' | 'maxOutputTokens'> {
  const [context, output] = [entry['max_input_tokens'], entry['max_output_tokens']]
  const isLimit = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0
  return { ...(isLimit(context) && { contextTokens: context }), ...(isLimit(output) && { maxOutputTokens: output }) }
}

function priceOf(entry: Json, purpose: ModelPurpose): PriceEntry | null {
  if (purpose === 'text') return rulesOf(entry)
  const [input, output, characters] = ['input_cost_per_token', 'output_cost_per_token', 'input_cost_per_character'].map(
    (name) => perMillion(entry[name]),
  )
  if (purpose === 'embeddings') return input === undefined ? null : { input, output: output ?? 0 }
  if (purpose === 'rerank') {
    const { input_cost_per_query: search } = entry
    if (typeof search === 'number' && search > 0) return { searches: rounded(search) }
    return input ? { input, output: output ?? 0 } : null
  }
  const seconds = perMillion(entry['input_cost_per_second'])
  if (purpose === 'transcription') return seconds === undefined ? null : { seconds }
  // Pictures and judged texts have no price of the gateway's form there.
  return purpose === 'speech' && characters !== undefined ? { characters } : null
}

const KINDS: Readonly<Record<string, TokenKind | TokenPart>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cache_read',
  cache_creation_input_token_cost: 'cache_write',
  cache_creation_input_token_cost_above_1hr: 'cache_write_1h',
  cache_creation_input_token_cost_above_12hr: 'cache_write_12h',
  input_cost_per_audio_token: 'input_audio',
  cache_read_input_audio_token_cost: 'cache_read_audio',
  output_cost_per_audio_token: 'output_audio',
  input_cost_per_image_token: 'input_image',
  output_cost_per_image_token: 'output_image',
  output_cost_per_reasoning_token: 'output_reasoning',
}
const MEMBER = /^([a-z]+_(?:\w+_)?(?:token|cost)(?:_above_\d+hr)?)(?:_above_(\d+)k_tokens)?(?:_([a-z]+))?$/
/** Prices of services that the gateway does not offer. */
const NOT_OFFERED: ReadonlySet<string> = new Set(['batches', 'decisions'])

type Rates = Partial<Record<TokenKind | TokenPart, number>>

/** What a sheet says of calls under one condition. */
interface SheetRule {
  readonly tier: string | undefined
  readonly above: number | undefined
  readonly rates: Rates
}

function rulesOf(entry: Json): PriceEntry | null {
  const found = [...namedRules(entry), ...sizedRules(entry['tiered_pricing'])]
  const usual = found.find(({ tier, above }) => tier === undefined && above === undefined)
  if (usual?.rates.input === undefined || usual.rates.output === undefined) return null
  const rules = [...found, ...fastRules(entry, found)].map((rule) => completed(rule, found, usual))
  rules.sort((a, b) => Number(a.tier === undefined) - Number(b.tier === undefined) || (b.above ?? 0) - (a.above ?? 0))
  const last = rules.pop()
  if (!last) return null
  const whole = { ...last, ...feesOf(entry) }
  return rules.length === 0 ? whole : [...rules, whole]
}

/** The rules that the names of members tell. */
function namedRules(entry: Json): SheetRule[] {
  const rules = new Map<string, SheetRule>()
  for (const [name, value] of Object.entries(entry)) {
    const [, base = '', thousands, tier] = MEMBER.exec(name) ?? []
    const kind = Object.hasOwn(KINDS, base) ? KINDS[base] : undefined
    const usd = perMillion(value)
    if (kind === undefined || usd === undefined || (tier !== undefined && NOT_OFFERED.has(tier))) continue
    const above = thousands === undefined ? undefined : Number(thousands) * 1000
    const key = `${tier} ${above}`
    const rule = rules.get(key) ?? { tier, above, rates: {} }
    rules.set(key, { ...rule, rates: { ...rule.rates, [kind]: usd } })
  }
  return [...rules.values()]
}

/** `tiered_pricing`: a list of prices with the range of input tokens of each. */
function sizedRules(tiers: unknown): SheetRule[] {
  if (!Array.isArray(tiers)) return []
  return tiers.filter(isJson).flatMap(({ range, ...prices }) => {
    const from = Array.isArray(range) ? Number(range[0]) : Number.NaN
    const [usual] = namedRules(prices)
    return usual && from >= 0 ? [{ ...usual, above: from === 0 ? undefined : from }] : []
  })
}

/** Anthropic's fast mode, which a sheet has as a multiple of the usual price. */
function fastRules(entry: Json, found: readonly SheetRule[]): SheetRule[] {
  const times = membersOf(entry['provider_specific_entry'])['fast']
  if (typeof times !== 'number') return []
  return found
    .filter(({ tier }) => tier === undefined)
    .map(({ above, rates }) => ({
      tier: 'fast',
      above,
      rates: Object.fromEntries(Object.entries(rates).map(([kind, usd]) => [kind, rounded(usd * times)])),
    }))
}

/**
 * The rule with a price for everything that the usual rule has one for. What is missing costs as much as in the next rule that has
 * it, and more in proportion where the rule's input costs more.
 */
function completed({ tier, above, rates }: SheetRule, all: readonly SheetRule[], usual: SheetRule): RuleEntry {
  const like = [
    all.find((rule) => rule.tier === tier && rule.above === undefined),
    all.find((rule) => rule.tier === undefined && rule.above === above),
    usual,
  ]
  const whole: Rates = { ...rates }
  // Reasoning that costs what output costs needs no price of its own.
  if (usual.rates.output_reasoning === usual.rates.output) delete whole.output_reasoning
  for (const kind of Object.keys(usual.rates) as (TokenKind | TokenPart)[]) {
    if (whole[kind] !== undefined || (kind === 'output_reasoning' && usual.rates[kind] === usual.rates.output)) continue
    const source = like.find((rule) => rule?.rates[kind] !== undefined)?.rates
    const usd = source?.[kind] ?? 0
    const times = source?.input && rates.input ? Math.max(1, rates.input / source.input) : 1
    whole[kind] = rounded(usd * times)
  }
  const { input = 0, output = 0, ...others } = whole
  return { ...(tier !== undefined && { tier }), ...(above !== undefined && { above }), input, output, ...others }
}

function feesOf(entry: Json): Pick<RuleEntry, 'request' | 'tools'> {
  const request = entry['input_cost_per_request']
  const search = membersOf(entry['search_context_cost_per_query'])['search_context_size_medium']
  // Nothing bounds the searches of Google's models, so they are not sold.
  const isSold = typeof search === 'number' && entry['litellm_provider'] !== 'gemini'
  return {
    ...(typeof request === 'number' && { request: rounded(request) }),
    ...(isSold && { tools: { web_search: rounded(search) } }),
  }
}

function perMillion(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1 ? rounded(value * 1_000_000) : undefined
}

/** USD with at most 6 decimals, rounded up, but not for what a floating-point number adds. */
function rounded(usd: number): number {
  return Math.ceil(Number((usd * 1_000_000).toPrecision(12))) / 1_000_000
}

/** A price with this many percent on top. */
export function markedUp(price: PriceEntry, percent: number): PriceEntry {
  const more = (usd: number) => rounded((usd * (100 + percent)) / 100)
  if ('characters' in price) return { characters: more(price.characters) }
  if ('seconds' in price) return { seconds: more(price.seconds) }
  if ('searches' in price) return { searches: more(price.searches) }
  if ('images' in price) return price
  const list = Array.isArray(price) ? price : [price]
  const rules = list.map(({ tier, above, tools, ...amounts }: RuleEntry) => ({
    ...(tier !== undefined && { tier }),
    ...(above !== undefined && { above }),
    ...(Object.fromEntries(Object.entries(amounts).map(([name, usd]) => [name, more(usd)])) as typeof amounts),
    ...(tools && {
      tools: Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, more(Number(tool))])),
    }),
  }))
  return Array.isArray(price) ? rules : (rules[0] ?? price)
}
