import type { TokenPrice } from './token-price'

/** The three wires a model can be spoken to in. A body is never translated from one to another. */
export type ModelRoute = 'chat_completions' | 'messages' | 'generate_content'

export type UpstreamKind = 'openai' | 'anthropic' | 'gemini' | 'sandbox'

/** Where calls of a model go. */
export interface ModelUpstream {
  readonly kind: UpstreamKind
  /** Without a slash at its end; empty for a sandbox, which is inside the gateway. */
  readonly baseUrl: string
  /** The environment's variable that holds our key there; null where none is needed. The key itself is nowhere else. */
  readonly keyEnv: string | null
  /** The model's name there. */
  readonly model: string
  /** Most calls under way at once. */
  readonly concurrency: number
  readonly connectMs: number
  /** Until the answer's headers; of a plain answer nearly the whole time of the call. */
  readonly firstByteMs: number
  /** Longest silence within a stream. */
  readonly idleMs: number
  /** What an OpenAI-compatible server calls the output cap that we set where the caller set none. */
  readonly capName: 'max_tokens' | 'max_completion_tokens'
}

/** One model that is sold. */
export interface Model {
  readonly id: string
  readonly ownedBy: string
  /** UNIX seconds. */
  readonly created: number
  /** In order of preference. */
  readonly upstreams: readonly ModelUpstream[]
  readonly price: TokenPrice
  /** Names the price in every charge made at it. */
  readonly priceVersion: string
  /** Whether only accounts that topped up may call it (spec 2.2). */
  readonly rechargeRequired: boolean
  /** Most tokens of input and output; null when unknown. */
  readonly contextTokens: number | null
  readonly maxOutputTokens: number | null
  /** The output cap of a call that names none; null for the operator's default. */
  readonly defaultOutputTokens: number | null
  /** Most tokens that one image can be. */
  readonly imageTokens: number
  /** Members of a body that go to the vendor although no token price covers them, as paths: the operator answers for their cost. */
  readonly extraMembers: readonly string[]
  /** Values of `anthropic-beta` that pass beside those known not to change billing. */
  readonly betas: readonly string[]
  /** Models of one family share a window of this many requests per minute and key (spec 8: capped at the upstream's quota). */
  readonly family: { readonly name: string; readonly rpm: number } | null
  /** The vendor bills a stream that we end only as far as it had come, where no output of it is hidden. */
  readonly stopsBilling: boolean
  /** How fast it writes: what a stream that ended without a report is reckoned by. */
  readonly tokensPerSecond: number
}

const ROUTES_OF: Readonly<Record<UpstreamKind, readonly ModelRoute[]>> = {
  openai: ['chat_completions'],
  anthropic: ['messages'],
  gemini: ['generate_content'],
  sandbox: ['chat_completions', 'messages', 'generate_content'],
}

/** Models that are at the same server, with the same key, share its fate and its places. */
export function upstreamName({ kind, baseUrl, keyEnv }: ModelUpstream): string {
  if (kind === 'sandbox') return 'sandbox'
  return `${kind} ${new URL(baseUrl).host}${keyEnv === null ? '' : ` ${keyEnv}`}`
}

/** Whether its calls cost nothing and ask nobody outside: only such a one ends when its caller leaves. */
export function isLocal({ upstreams }: Pick<Model, 'upstreams'>): boolean {
  return upstreams.every(({ kind }) => kind === 'sandbox')
}

/** Whether an upstream speaks a wire. */
export function speaks(upstream: ModelUpstream, route: ModelRoute): boolean {
  return ROUTES_OF[upstream.kind].includes(route)
}

/** The wires a model can be called on, in a fixed order. */
export function routesOf(model: Model): ModelRoute[] {
  return ROUTES_OF.sandbox.filter((route) => model.upstreams.some((upstream) => speaks(upstream, route)))
}
