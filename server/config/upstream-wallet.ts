import type { WalletTerms } from '../core/apis/upstream-payment'
import { chainAddress, nodeUrl, type Read, refusePublished, usd, whole } from './chain-values'
import { ConfigError } from './config-error'

/** The wallet that pays upstreams per request, and how much it may sign. */
export interface UpstreamWalletSettings {
  readonly key: string
  readonly rpcUrl: string
  readonly tokenName: string
  readonly tokenVersion: string
  readonly terms: WalletTerms
}

/** Variables that begin so are of the wallet. No API may name one as its secret. */
export const WALLET_PREFIX = 'UPSTREAM_WALLET_'
const NEEDED = [
  'UPSTREAM_WALLET_KEY',
  'UPSTREAM_WALLET_RPC_URL',
  'UPSTREAM_WALLET_CHAIN_ID',
  'UPSTREAM_WALLET_TOKEN',
  'UPSTREAM_WALLET_TOKEN_NAME',
  'UPSTREAM_WALLET_TOKEN_VERSION',
  'UPSTREAM_WALLET_DAILY_USD',
  'UPSTREAM_WALLET_DAILY_USD_PER_PAYEE',
] as const

/** Reads the `UPSTREAM_WALLET_*` settings of the README. Null when none is set. */
export function upstreamWalletSettings(read: Read, production: boolean): UpstreamWalletSettings | null {
  const missing = NEEDED.filter((name) => read(name) === null)
  if (missing.length === NEEDED.length) return null
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(', ')} not set; the wallet that pays upstreams needs ${NEEDED.length} settings`,
    )
  const key = read('UPSTREAM_WALLET_KEY') ?? ''
  // It is a secret, so the message does not repeat it.
  if (!/^0x[0-9a-fA-F]{64}$/.test(key))
    throw new ConfigError('UPSTREAM_WALLET_KEY must be a private key: 0x and 64 hex digits')
  if (production) refusePublished('UPSTREAM_WALLET_KEY', key)
  const number = (name: string, text: string, min: number, max: number) => whole(name, read(name) ?? text, min, max)
  const amount = (name: (typeof NEEDED)[number]) => usd(name, read(name) ?? '')
  return {
    key,
    rpcUrl: nodeUrl(read, 'UPSTREAM_WALLET_RPC_URL', 'the wallet that pays upstreams'),
    tokenName: read('UPSTREAM_WALLET_TOKEN_NAME') ?? '',
    tokenVersion: read('UPSTREAM_WALLET_TOKEN_VERSION') ?? '',
    terms: {
      chainId: number('UPSTREAM_WALLET_CHAIN_ID', '', 1, 2 ** 31),
      token: chainAddress(read, 'UPSTREAM_WALLET_TOKEN', 'the wallet that pays upstreams').toLowerCase(),
      decimals: number('UPSTREAM_WALLET_TOKEN_DECIMALS', '6', 6, 18),
      dailyMaximum: amount('UPSTREAM_WALLET_DAILY_USD'),
      dailyMaximumPerPayee: amount('UPSTREAM_WALLET_DAILY_USD_PER_PAYEE'),
    },
  }
}
