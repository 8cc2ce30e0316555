import type { AccountId } from '../ids'
import { isCount } from '../json'
import { TIERS } from '../limits/tier'
import { err, ok, type Result } from '../result'
import { BadEntry, entryMembers } from './bad-entry'
import {
  MODEL_PURPOSES,
  type Model,
  type ModelAccess,
  type ModelPurpose,
  type ModelUpstream,
  routesOf,
  UPSTREAM_ORDERS,
  type UpstreamKind,
  type UpstreamOrder,
} from './model'
import {
  ACCESS_MEMBERS,
  ACCOUNT_ID,
  ANSWER_CACHE_MEMBERS,
  BETA_NAME,
  CAP_PARAMETERS,
  ENTRY_MEMBERS,
  KEY_ENV,
  MAX_ACCOUNTS,
  MAX_CACHE_SECONDS,
  MAX_COUNT,
  MAX_FALLBACKS,
  MAX_ID_CHARACTERS,
  MAX_NAMES,
  MAX_TEXT_CHARACTERS,
  MAX_UPSTREAMS,
  MAX_WEIGHT,
  MEMBER_PATH,
  MODEL_ID,
  UPSTREAM_KINDS,
  UPSTREAM_MEMBERS,
  VENDOR_NAME,
} from './model-file-schema'
import { modelPriceOf, type PriceEntry, purchasePriceOf } from './price-entry'
import type { ModelPrice } from './unit-price'

/** An upstream as an operator writes it. */
export interface UpstreamEntry {
  readonly kind: Exclude<UpstreamKind, 'sandbox'>
  /** Includes the version path: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`. Defaults to the vendor's URL. */
  readonly base_url?: string
  /** The environment variable with the upstream's API key, such as `OPENAI_API_KEY`. */
  readonly key_env?: string
  /** The vendor whose key is used, instead of `key_env`. */
  readonly vendor?: string
  /** The model's name at the upstream. Defaults to its id. */
  readonly model?: string
  /** Its share of the calls, where the order is `weighted`. Defaults to 1. */
  readonly weight?: number
  readonly concurrency?: number
  readonly connect_timeout_ms?: number
  readonly first_byte_timeout_ms?: number
  readonly idle_timeout_ms?: number
  readonly cap_parameter?: 'max_tokens' | 'max_completion_tokens'
  /** Whether it serves `/responses` itself. Defaults to true for api.openai.com only. */
  readonly responses?: boolean
}

/** A model as an operator writes it, in a file or in the database. */
export interface ModelEntry {
  readonly id: string
  readonly upstream?: UpstreamEntry
  /** Several upstreams, instead of `upstream`. */
  readonly upstreams?: readonly UpstreamEntry[]
  /** The order in which they are tried. Defaults to `listed`. */
  readonly order?: UpstreamOrder
  /** Ids of models that serve a call if no upstream of this one does. */
  readonly fallback?: readonly string[]
  /** The accounts that may call it, by tier and by id. Absent: everyone. */
  readonly access?: Partial<ModelAccess>
  /** Answers are kept for so long, for the same call of the same account, which then costs `percent` of the charge. */
  readonly answer_cache?: { readonly seconds: number; readonly percent: number }
  readonly price: PriceEntry
  /** The vendor's price, for reports on margin. */
  readonly purchase_price?: PriceEntry
  /** Defaults to `text`. */
  readonly purpose?: ModelPurpose
  readonly owned_by?: string
  readonly created?: number
  readonly recharge_required?: boolean
  readonly context_tokens?: number
  readonly max_output_tokens?: number
  readonly default_output_tokens?: number
  readonly image_tokens?: number
  /** The longest sound of one call, which bounds what is held for files that do not tell their length. */
  readonly max_seconds?: number
  /** Paths of body properties that are forwarded although token prices do not cover them. */
  readonly extra_members?: readonly string[]
  readonly betas?: readonly string[]
  readonly family?: string
  readonly family_rpm?: number
  /** The vendor bills an aborted stream only up to where it ended. Do not set this for models that reason by default. */
  readonly stops_billing?: boolean
  readonly tokens_per_second?: number
}

/** Where the vendor of a kind is. */
export const VENDOR_URLS: Readonly<Record<UpstreamEntry['kind'], string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
}

/** More than vendors document for one image of any size, except for a few small models. */
const IMAGE_TOKENS = 16_384
/** The speed of fast models. Estimates based on it never exceed the hold. */
const TOKENS_PER_SECOND = 100

/**
 * Validates an operator's entry. The error is one sentence that names the problem. A model without a price is refused instead of
 * free; an explicit 0 is a valid price (spec D8).
 */
export function parseModelEntry(
  value: unknown,
  source: { readonly created: number; readonly priceVersion: (price: ModelPrice) => string },
): Result<Model, string> {
  try {
    return ok(modelOf(value, source))
  } catch (error) {
    if (error instanceof BadEntry) return err(error.message)
    throw error
  }
}

function modelOf(value: unknown, source: Parameters<typeof parseModelEntry>[1]): Model {
  const entry = entryMembers(value, 'a model', ENTRY_MEMBERS)
  const id = entry['id']
  if (typeof id !== 'string' || id.length > MAX_ID_CHARACTERS || !MODEL_ID.test(id))
    throw new BadEntry(
      'id must be a name such as "gpt-4o" or "meta/llama-3", of letters, digits and . _ : @ - /, and must not start with "sandbox/"',
    )
  const list = entry['upstreams'] ?? (entry['upstream'] === undefined ? undefined : [entry['upstream']])
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_UPSTREAMS)
    throw new BadEntry(`${id}: set upstream to an object, or upstreams to a list of 1 to ${MAX_UPSTREAMS} objects`)
  const upstreams = list.map((upstream) => upstreamOf(upstream, id))
  const family = text(entry['family'], `${id}: family`)
  const rpm = count(entry['family_rpm'], `${id}: family_rpm`)
  if ((family === null) !== (rpm === null)) throw new BadEntry(`${id}: set both family and family_rpm, or neither`)
  const given = entry['purpose'] ?? 'text'
  const purpose = MODEL_PURPOSES.find((known) => known === given)
  if (!purpose) throw new BadEntry(`${id}: purpose must be ${MODEL_PURPOSES.join(', ')}`)
  if (routesOf({ purpose, upstreams }).length === 0)
    throw new BadEntry(`${id}: none of its upstreams offers ${purpose}`)
  const wanted = entry['order'] ?? 'listed'
  const order = UPSTREAM_ORDERS.find((known) => known === wanted)
  if (!order) throw new BadEntry(`${id}: order must be ${UPSTREAM_ORDERS.join(', ')}`)
  const price = modelPriceOf(entry['price'], { id, purpose, upstreams })
  const recharge = entry['recharge_required'] ?? true
  if (typeof recharge !== 'boolean') throw new BadEntry(`${id}: recharge_required must be true or false`)
  const maxSeconds = count(entry['max_seconds'], `${id}: max_seconds`)
  const stopsBilling = entry['stops_billing'] ?? false
  if (typeof stopsBilling !== 'boolean') throw new BadEntry(`${id}: stops_billing must be true or false`)
  return {
    id,
    ownedBy: text(entry['owned_by'], `${id}: owned_by`) ?? upstreams[0]?.kind ?? 'gateway',
    purpose,
    created: count(entry['created'], `${id}: created`) ?? source.created,
    upstreams,
    ...(order !== 'listed' && { order }),
    fallback: fallbackOf(entry['fallback'], id),
    ...(entry['access'] !== undefined && { access: accessOf(entry['access'], id) }),
    ...(entry['answer_cache'] !== undefined && { answerCache: answerCacheOf(entry['answer_cache'], id) }),
    price,
    ...(entry['purchase_price'] !== undefined && {
      purchasePrice: purchasePriceOf(entry['purchase_price'], { id, purpose, upstreams }),
    }),
    priceVersion: source.priceVersion(price),
    rechargeRequired: recharge,
    contextTokens: count(entry['context_tokens'], `${id}: context_tokens`),
    maxOutputTokens: count(entry['max_output_tokens'], `${id}: max_output_tokens`),
    defaultOutputTokens: count(entry['default_output_tokens'], `${id}: default_output_tokens`),
    ...(maxSeconds !== null && { maxSeconds }),
    imageTokens: count(entry['image_tokens'], `${id}: image_tokens`) ?? IMAGE_TOKENS,
    extraMembers: names(entry['extra_members'], `${id}: extra_members`, MEMBER_PATH),
    betas: names(entry['betas'], `${id}: betas`, BETA_NAME),
    family: family !== null && rpm !== null ? { name: family, rpm } : null,
    stopsBilling,
    tokensPerSecond: count(entry['tokens_per_second'], `${id}: tokens_per_second`) ?? TOKENS_PER_SECOND,
  }
}

/** Endings of base URLs that were copied from an example of a call. */
const OPERATION_PATH = /\/(?:chat\/completions|completions|responses|embeddings|messages)\/*$/

/** Why a URL cannot be that of an upstream; null if it can. */
export function baseUrlProblem(url: URL | null, kind: UpstreamEntry['kind']): string | null {
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    return `must be an http(s) URL without a query, such as ${VENDOR_URLS[kind]}`
  const operation = OPERATION_PATH.exec(url.pathname)?.[0]
  return operation === undefined
    ? null
    : `must end before ${operation}, which is added to it: ${VENDOR_URLS[kind]} is one`
}

function upstreamOf(value: unknown, id: string): ModelUpstream {
  const entry = entryMembers(value, `an upstream of ${id}`, UPSTREAM_MEMBERS)
  const kind = UPSTREAM_KINDS.find((known) => known === entry['kind'])
  if (!kind) throw new BadEntry(`${id}: an upstream's kind must be openai, anthropic or gemini`)
  const baseUrl = text(entry['base_url'], `${id}: base_url`) ?? VENDOR_URLS[kind]
  const url = URL.parse(baseUrl)
  const problem = baseUrlProblem(url, kind)
  if (!url || problem !== null) throw new BadEntry(`${id}: base_url ${problem}`)
  const keyEnv = text(entry['key_env'], `${id}: key_env`)
  if (keyEnv !== null && !KEY_ENV.test(keyEnv))
    throw new BadEntry(`${id}: key_env must be the name of an environment variable, not the key itself`)
  const vendor = text(entry['vendor'], `${id}: vendor`)
  if (vendor !== null && (keyEnv !== null || !VENDOR_NAME.test(vendor)))
    throw new BadEntry(`${id}: vendor must be the name of a vendor that was added, without key_env`)
  const wanted = entry['cap_parameter'] ?? (url.hostname === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens')
  const cap = CAP_PARAMETERS.find((known) => known === wanted)
  if (!cap) throw new BadEntry(`${id}: cap_parameter must be ${CAP_PARAMETERS.join(' or ')}`)
  const responses = entry['responses'] ?? (kind === 'openai' && url.hostname === 'api.openai.com')
  if (typeof responses !== 'boolean' || (responses && kind !== 'openai'))
    throw new BadEntry(`${id}: responses must be true or false, and can be true only for the kind openai`)
  const weight = count(entry['weight'], `${id}: weight`)
  if (weight !== null && weight > MAX_WEIGHT) throw new BadEntry(`${id}: weight must be at most ${MAX_WEIGHT}`)
  return {
    kind,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    keyEnv,
    ...(vendor !== null && { vendor }),
    model: text(entry['model'], `${id}: model`) ?? id,
    ...(weight !== null && { weight }),
    concurrency: count(entry['concurrency'], `${id}: concurrency`) ?? 128,
    connectMs: count(entry['connect_timeout_ms'], `${id}: connect_timeout_ms`) ?? 5_000,
    firstByteMs: count(entry['first_byte_timeout_ms'], `${id}: first_byte_timeout_ms`) ?? 300_000,
    idleMs: count(entry['idle_timeout_ms'], `${id}: idle_timeout_ms`) ?? 60_000,
    capName: cap,
    speaksResponses: responses,
  }
}

function fallbackOf(value: unknown, id: string): readonly string[] {
  const ids = names(value, `${id}: fallback`, MODEL_ID)
  if (ids.length > MAX_FALLBACKS || ids.includes(id))
    throw new BadEntry(`${id}: fallback must be a list of at most ${MAX_FALLBACKS} other models`)
  return ids
}

function accessOf(value: unknown, id: string): ModelAccess {
  const entry = entryMembers(value, `${id}: access`, ACCESS_MEMBERS)
  const tiers = names(entry['tiers'], `${id}: access.tiers`, /./)
  const known = TIERS.filter((tier) => tiers.includes(tier))
  if (known.length !== tiers.length) throw new BadEntry(`${id}: access.tiers must be of ${TIERS.join(', ')}`)
  const accounts = names(entry['accounts'], `${id}: access.accounts`, ACCOUNT_ID, MAX_ACCOUNTS)
  return { tiers: known, accounts: accounts as readonly AccountId[] }
}

function answerCacheOf(value: unknown, id: string): NonNullable<Model['answerCache']> {
  const entry = entryMembers(value, `${id}: answer_cache`, ANSWER_CACHE_MEMBERS)
  const { percent } = entry
  const seconds = count(entry['seconds'], `${id}: answer_cache.seconds`)
  if (seconds === null || seconds > MAX_CACHE_SECONDS)
    throw new BadEntry(`${id}: answer_cache.seconds must be at most ${MAX_CACHE_SECONDS}`)
  if (!isCount(percent) || percent > 100)
    throw new BadEntry(
      `${id}: answer_cache.percent must be a whole number from 0 to 100; for free answers, set it to 0`,
    )
  return { seconds, percent }
}

function text(value: unknown, what: string): string | null {
  if (value === undefined) return null
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_TEXT_CHARACTERS)
    throw new BadEntry(`${what} must be text of 1 to ${MAX_TEXT_CHARACTERS} characters`)
  return value
}

function count(value: unknown, what: string): number | null {
  if (value === undefined) return null
  if (!Number.isSafeInteger(value) || Number(value) < 1 || Number(value) > MAX_COUNT)
    throw new BadEntry(`${what} must be an integer above 0`)
  return Number(value)
}

function names(value: unknown, what: string, pattern: RegExp, most = MAX_NAMES): readonly string[] {
  if (value === undefined) return []
  const given: readonly unknown[] = Array.isArray(value) ? value : [null]
  const known = given.filter((name): name is string => typeof name === 'string' && pattern.test(name))
  if (known.length !== given.length || known.length > most)
    throw new BadEntry(`${what} must be a list of at most ${most} names`)
  return known
}
