import type { DailyMaxima } from '../../core/apis/payments/upstream-payment'
import { parsedJson } from '../../core/json'
import { ConfigError } from '../config-error'
import { group, type Read, setting } from '../schema/setting'
import { neededFor, privateKey, refusePublished, usd } from './chain-values'

/** A token that upstreams are paid in, as `UPSTREAM_WALLET_TOKENS` names it. */
export type WalletTokenSetting = {
  readonly chainId: number
  /** Lower case. */
  readonly address: string
  readonly decimals: number
  readonly rpcUrl: string
} & (
  | { readonly kind: 'eip3009' /** Of the token's signing domain. */; readonly name: string; readonly version: string }
  | { readonly kind: 'tempo' }
)

/** The wallet that pays upstreams per request, and how much it may sign. */
export interface UpstreamWalletSettings {
  readonly key: string
  readonly tokens: readonly WalletTokenSetting[]
  readonly maxima: DailyMaxima
}

/** Variables that begin so are of the wallet. No API may name one as its secret. */
export const WALLET_PREFIX = 'UPSTREAM_WALLET_'
const NEEDED = [
  'UPSTREAM_WALLET_KEY',
  'UPSTREAM_WALLET_TOKENS',
  'UPSTREAM_WALLET_DAILY_USD',
  'UPSTREAM_WALLET_DAILY_USD_PER_PAYEE',
] as const
const MEMBERS = ['kind', 'chain_id', 'token', 'decimals', 'rpc_url', 'name', 'version']
const EXAMPLE =
  '[{"chain_id": 8453, "token": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "name": "USD Coin", "version": "2", "rpc_url": "https://rpc.example.com"}]'

export const UPSTREAM_WALLET = group(
  'The wallet that pays upstreams',
  'Pays upstreams per request (`auth: 402`). Set all four or none ([more](sell-your-api.md#upstreams-that-are-paid-per-request)).',
  {
    UPSTREAM_WALLET_KEY: privateKey({ doc: 'Private key of the wallet' }),
    UPSTREAM_WALLET_TOKENS: setting(
      {
        default: null,
        secret: true,
        example: EXAMPLE,
        doc: 'The dollar tokens that it pays with, and no others: a JSON list of `chain_id`, `token` (its contract), `decimals` (6 if absent), `rpc_url` (a node of its chain), and either `name` and `version` of its signing domain (EIP-3009, such as USDC) or `"kind": "tempo"`',
      },
      { anyOf: [{ type: 'array', items: { type: 'object' } }, { type: 'string' }] },
      walletTokens,
    ),
    UPSTREAM_WALLET_DAILY_USD: usd({ default: null, doc: 'The most that it signs in 24 hours' }),
    UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: usd({
      default: null,
      doc: 'The most that it signs in 24 hours for one payee',
    }),
  },
)

/** Reads the `UPSTREAM_WALLET_*` settings. Null when none is set. */
export function upstreamWalletSettings(read: Read, production: boolean): UpstreamWalletSettings | null {
  const { settings } = UPSTREAM_WALLET
  const missing = NEEDED.filter((name) => read(name) === null)
  if (missing.length === NEEDED.length) return null
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(', ')} not set; the wallet that pays upstreams needs ${NEEDED.length} settings`,
    )
  const must = neededFor(read, 'the wallet that pays upstreams')
  const key = must(settings.UPSTREAM_WALLET_KEY)
  if (production) refusePublished('UPSTREAM_WALLET_KEY', key)
  return {
    key,
    tokens: must(settings.UPSTREAM_WALLET_TOKENS),
    maxima: {
      inAll: must(settings.UPSTREAM_WALLET_DAILY_USD),
      perPayee: must(settings.UPSTREAM_WALLET_DAILY_USD_PER_PAYEE),
    },
  }
}

/** No message repeats the text: the URL of a node can contain a key. */
function walletTokens(text: string): readonly WalletTokenSetting[] {
  const list = parsedJson(text)
  if (!Array.isArray(list) || list.length === 0) throw wrongTokens(`must be a JSON list such as ${EXAMPLE}`)
  const tokens = list.map(walletToken)
  const names = tokens.map(({ chainId, address }) => `${chainId}/${address}`)
  if (new Set(names).size < names.length) throw wrongTokens('names a token twice')
  return tokens
}

function walletToken(value: unknown, index: number): WalletTokenSetting {
  const label = `entry ${index + 1}`
  const entry: Readonly<Record<string, unknown>> = Object(value)
  const unknown = Object.keys(entry).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) throw wrongTokens(`${label}: ${unknown} is not known; use ${MEMBERS.join(', ')}`)
  const { kind = 'eip3009', chain_id: chainId, token, decimals = 6, rpc_url: rpcUrl } = entry
  if (!isWhole(chainId, 1, 2 ** 31)) throw wrongTokens(`${label}: chain_id must be a whole number such as 8453`)
  if (typeof token !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(token))
    throw wrongTokens(`${label}: token must be the address of a contract: 0x and 40 hex digits`)
  if (!isWhole(decimals, 6, 18)) throw wrongTokens(`${label}: decimals must be a whole number from 6 to 18`)
  const url = typeof rpcUrl === 'string' ? URL.parse(rpcUrl) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw wrongTokens(`${label}: rpc_url must be the URL of a node`)
  const known = { chainId, address: token.toLowerCase(), decimals, rpcUrl: url.href }
  if (kind === 'tempo') return { ...known, kind }
  const { name, version } = entry
  if (kind !== 'eip3009') throw wrongTokens(`${label}: kind must be eip3009 or tempo`)
  if (typeof name !== 'string' || typeof version !== 'string' || name === '' || version === '')
    throw wrongTokens(
      `${label}: name and version must be those of the token's signing domain, such as "USD Coin" and "2"`,
    )
  return { ...known, kind, name, version }
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
}

function wrongTokens(rule: string): ConfigError {
  return new ConfigError(`UPSTREAM_WALLET_TOKENS ${rule}`)
}
