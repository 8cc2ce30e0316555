import type { AccountId } from '../ids'
import type { Tier } from '../limits/tier'
import type { ModelPrice } from './unit-price'

/**
 * The APIs for calling models, in display order. Only `responses` and `completions` are translated, for upstreams that speak chat
 * completions.
 */
export const MODEL_ROUTES = [
  'chat_completions',
  'responses',
  'completions',
  'messages',
  'messages_count_tokens',
  'generate_content',
  'count_tokens',
  'embeddings',
  'embed_content',
  'batch_embed_contents',
  'moderations',
  'image_generations',
  'image_edits',
  'speech',
  'transcriptions',
  'rerank',
] as const

export type ModelRoute = (typeof MODEL_ROUTES)[number]

/** The purpose of a model: it writes text, turns text into vectors, judges texts, draws pictures, speaks, writes down speech or ranks documents. */
export const MODEL_PURPOSES = [
  'text',
  'embeddings',
  'moderation',
  'images',
  'speech',
  'transcription',
  'rerank',
] as const

export type ModelPurpose = (typeof MODEL_PURPOSES)[number]

export type UpstreamKind = 'openai' | 'anthropic' | 'gemini' | 'sandbox'

/** The server that calls of a model are sent to. */
export interface ModelUpstream {
  readonly kind: UpstreamKind
  /** Without a trailing slash. Empty for the sandbox, which runs inside the gateway. */
  readonly baseUrl: string
  /** The environment variable with the upstream's API key; null if none is needed. The key itself is stored nowhere else. */
  readonly keyEnv: string | null
  /** The vendor that an operator added, whose key is used; absent with `keyEnv` or without a key. */
  readonly vendor?: string
  /** The model's name at the upstream. */
  readonly model: string
  /** Its share of the calls of a model whose upstreams are `weighted`; absent: 1. */
  readonly weight?: number
  /** The maximum number of concurrent calls. */
  readonly concurrency: number
  readonly connectMs: number
  /** The time until response headers arrive. Without streaming this is nearly the whole call. */
  readonly firstByteMs: number
  /** The longest silence within a stream. */
  readonly idleMs: number
  /** An OpenAI-compatible server's name of the output limit, which the gateway sets when the caller does not. */
  readonly capName: 'max_tokens' | 'max_completion_tokens'
  /** Whether it has OpenAI's Responses API itself. Otherwise such calls reach it as chat completions. */
  readonly speaksResponses: boolean
}

/** `weighted`: at random, by their weights. `fastest`: by their recent time to the first byte. */
export const UPSTREAM_ORDERS = ['listed', 'weighted', 'fastest'] as const
export type UpstreamOrder = (typeof UPSTREAM_ORDERS)[number]

/** The accounts that may call a model: those of these tiers, and these. */
export interface ModelAccess {
  readonly tiers: readonly Tier[]
  readonly accounts: readonly AccountId[]
}

/** An account that asks for models. */
export interface ModelBuyer {
  readonly account: { readonly id: AccountId }
  readonly tier: Tier
}

/** An available model. */
export interface Model {
  readonly id: string
  readonly ownedBy: string
  readonly purpose: ModelPurpose
  /** UNIX seconds. */
  readonly created: number
  readonly upstreams: readonly ModelUpstream[]
  /** In which order they are tried; absent: as listed. */
  readonly order?: Exclude<UpstreamOrder, 'listed'>
  /** Ids of models that serve a call, in this order, if no upstream does. */
  readonly fallback: readonly string[]
  /** Absent: everyone may call it. For all others it does not exist. */
  readonly access?: ModelAccess
  /** How long answers are kept for the same call of the same account, and what one then costs, in percent of its charge. Absent: not at all. */
  readonly answerCache?: { readonly seconds: number; readonly percent: number }
  readonly price: ModelPrice
  /** The operator's price for it; absent if not known. Of the same unit as `price`. */
  readonly purchasePrice?: ModelPrice
  /** Identifies the price in every charge. */
  readonly priceVersion: string
  /** Whether only accounts that have topped up may call it (spec 2.2). */
  readonly rechargeRequired: boolean
  /** The maximum number of input and output tokens; null if unknown. */
  readonly contextTokens: number | null
  readonly maxOutputTokens: number | null
  /** The output limit of calls that set none; null for the operator's default. */
  readonly defaultOutputTokens: number | null
  /** The longest sound of one call; absent if unknown. */
  readonly maxSeconds?: number
  /** The maximum number of tokens of one image. */
  readonly imageTokens: number
  /** Paths of body properties that are forwarded although token prices do not cover them. The operator bears their cost. */
  readonly extraMembers: readonly string[]
  /** Allowed values of `anthropic-beta`, in addition to those known not to change billing. */
  readonly betas: readonly string[]
  /** Models of one family share this many requests per minute and key, the upstream's quota (spec 8). */
  readonly family: { readonly name: string; readonly rpm: number } | null
  /** The vendor bills an aborted stream only up to where it ended, provided that its output is not hidden. */
  readonly stopsBilling: boolean
  /** Output speed, to estimate the cost of a stream that ended without a usage report. */
  readonly tokensPerSecond: number
}

const ROUTES_OF: Readonly<Record<UpstreamKind, readonly ModelRoute[]>> = {
  openai: [
    'chat_completions',
    'responses',
    'completions',
    'embeddings',
    'moderations',
    'image_generations',
    'image_edits',
    'speech',
    'transcriptions',
    'rerank',
  ],
  anthropic: ['messages', 'messages_count_tokens'],
  gemini: ['generate_content', 'count_tokens', 'embed_content', 'batch_embed_contents'],
  sandbox: MODEL_ROUTES,
}

/** The purpose of the models of a route; a route that is not here is for text. */
const PURPOSES: Readonly<Partial<Record<ModelRoute, ModelPurpose>>> = {
  embeddings: 'embeddings',
  embed_content: 'embeddings',
  batch_embed_contents: 'embeddings',
  moderations: 'moderation',
  image_generations: 'images',
  image_edits: 'images',
  speech: 'speech',
  transcriptions: 'transcription',
  rerank: 'rerank',
}

/** Identifies a server and key. Models with the same name share its concurrency. */
export function upstreamName({ kind, baseUrl, keyEnv, vendor }: ModelUpstream): string {
  if (kind === 'sandbox') return 'sandbox'
  const key = vendor ?? keyEnv
  return `${kind} ${new URL(baseUrl).host}${key === null ? '' : ` ${key}`}`
}

/** Identifies one model at a server and key, which has a health state of its own. */
export function modelAt(upstream: ModelUpstream): string {
  return upstream.kind === 'sandbox' ? 'sandbox' : `${upstreamName(upstream)} ${upstream.model}`
}

/** Whether a model exists for an account; null: for strangers. */
export function isOpenTo({ access }: Pick<Model, 'access'>, buyer: ModelBuyer | null): boolean {
  if (!access) return true
  return buyer !== null && (access.tiers.includes(buyer.tier) || access.accounts.includes(buyer.account.id))
}

/** Whether calls stay inside the gateway and cost nothing. Only such calls end when their caller disconnects. */
export function isLocal({ upstreams }: Pick<Model, 'upstreams'>): boolean {
  return upstreams.every(({ kind }) => kind === 'sandbox')
}

/** Whether an upstream serves an API, by itself or by translation. */
export function servesRoute(upstream: ModelUpstream, route: ModelRoute): boolean {
  return ROUTES_OF[upstream.kind].includes(route)
}

/** Whether calls of an API reach an upstream as chat completions. */
export function isTranslated(upstream: Pick<ModelUpstream, 'speaksResponses'>, route: ModelRoute): boolean {
  return route === 'completions' || (route === 'responses' && !upstream.speaksResponses)
}

/** What decides the APIs of a model. Without a price: as if it had one for all of them. */
type Callable = Pick<Model, 'purpose' | 'upstreams'> & Partial<Pick<Model, 'price'>>

/** The APIs that a model can be called on, in a fixed order. */
export function routesOf(model: Callable): ModelRoute[] {
  return MODEL_ROUTES.filter((route) => isOnRoute(model, route))
}

/** Whether a model can be called on this API. */
export function isOnRoute({ purpose, upstreams, price }: Callable, route: ModelRoute): boolean {
  if ((PURPOSES[route] ?? 'text') !== purpose) return false
  // Pictures that are sent cost a vendor something, too.
  if (route === 'image_edits' && price && !('edits' in price)) return false
  for (const upstream of upstreams) if (servesRoute(upstream, route)) return true
  return false
}
