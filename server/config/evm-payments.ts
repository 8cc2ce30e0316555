import type { Money } from '../core/money'
import { type ChainPace, chainDefaults, chainPace } from './chain-defaults'
import { chainAddress, nodeUrl, type Read, refusePublished, usd, whole } from './chain-values'
import { ConfigError } from './config-error'

/** The chain, the token, the recipient and the relayer of the `evm` method and of x402. */
export interface EvmSettings extends ChainPace {
  readonly rpcUrl: string
  readonly chainId: number
  /** The contract of an ERC-20 token with `transferWithAuthorization` (EIP-3009). */
  readonly token: string
  /** Name and version in the token's signing domain (EIP-712). */
  readonly tokenName: string
  readonly tokenVersion: string
  readonly decimals: number
  readonly recipient: string
  /** The account that submits the transfers and pays their gas. Null if only the facilitator does. */
  readonly relayerKey: string | null
  /** Settles authorizations instead of the relayer; null without one. */
  readonly facilitator: FacilitatorSettings | null
  /** The maximum gas cost of one payment. */
  readonly gas: GasSettings
  /** Smaller amounts cannot be paid this way. */
  readonly minAmount: Money
}

export interface FacilitatorSettings {
  readonly url: string
  /** The value of `Authorization` in requests to it; null for none. */
  readonly authorization: string | null
}

export interface GasSettings {
  /** In wei; null to limit only the cost of a whole payment. */
  readonly maxFeePerGas: bigint | null
  /** In wei. */
  readonly maxCostPerPayment: bigint
}

const NEEDED = [
  'PAYMENTS_EVM_RPC_URL',
  'PAYMENTS_EVM_CHAIN_ID',
  'PAYMENTS_EVM_TOKEN',
  'PAYMENTS_EVM_TOKEN_NAME',
  'PAYMENTS_EVM_TOKEN_VERSION',
  'PAYMENTS_EVM_RECIPIENT',
] as const
const RELAYER_KEY = 'PAYMENTS_EVM_RELAYER_KEY'

/** Reads the `PAYMENTS_EVM_*` settings of the README. Null when none is set. */
export function evmSettings(read: Read, production: boolean): EvmSettings | null {
  const facilitator = facilitatorSettings(read)
  const needed = facilitator ? NEEDED : [...NEEDED, RELAYER_KEY]
  const missing = needed.filter((name) => read(name) === null)
  if (missing.length === needed.length && read(RELAYER_KEY) === null && !facilitator) return null
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(', ')} not set; payments by evm need ${needed.length} settings (see PAYMENTS_EVM_* in the README)`,
    )
  const recipient = chainAddress(read, 'PAYMENTS_EVM_RECIPIENT', 'the evm method')
  const relayerKey = read(RELAYER_KEY)
  // It is a secret, so the message does not repeat it.
  if (relayerKey !== null && !/^0x[0-9a-fA-F]{64}$/.test(relayerKey))
    throw new ConfigError(`${RELAYER_KEY} must be a private key: 0x and 64 hex digits`)
  if (production) refusePublished('PAYMENTS_EVM_RECIPIENT', recipient)
  if (production && relayerKey !== null) refusePublished(RELAYER_KEY, relayerKey)
  const chainId = whole('PAYMENTS_EVM_CHAIN_ID', read('PAYMENTS_EVM_CHAIN_ID') ?? '', 1, 2 ** 31)
  return {
    ...chainPace(read, chainId),
    ...gasSettings(read, chainId),
    rpcUrl: nodeUrl(read, 'PAYMENTS_EVM_RPC_URL', 'the evm method'),
    chainId,
    token: chainAddress(read, 'PAYMENTS_EVM_TOKEN', 'the evm method'),
    tokenName: read('PAYMENTS_EVM_TOKEN_NAME') ?? '',
    tokenVersion: read('PAYMENTS_EVM_TOKEN_VERSION') ?? '',
    decimals: whole('PAYMENTS_EVM_TOKEN_DECIMALS', read('PAYMENTS_EVM_TOKEN_DECIMALS') ?? '6', 6, 18),
    recipient,
    relayerKey,
    facilitator,
  }
}

function facilitatorSettings(read: Read): FacilitatorSettings | null {
  const [name, secret] = ['PAYMENTS_FACILITATOR_URL', 'PAYMENTS_FACILITATOR_AUTHORIZATION']
  const [text, authorization] = [read(name), read(secret)]
  if (text === null && authorization !== null) throw new ConfigError(`${secret} is set, but ${name} is not`)
  if (text === null) return null
  const url = URL.parse(text)
  // Neither may be repeated: a URL can contain a token.
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search)
    throw new ConfigError(
      `${name} must be the http or https URL of a facilitator, such as https://facilitator.example.com`,
    )
  if (authorization !== null && !/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(authorization))
    throw new ConfigError(`${secret} must be the value of an Authorization header, such as "Bearer ..."`)
  return { url: url.href, authorization }
}

/** The price of the cheapest call. With more expensive gas, it would be sold at a loss. */
const MAX_GAS_USD = '0.005'
const WEI_PER_COIN = 10n ** 18n

/** By default, prices below the gas ceiling cannot be paid this way, so that no payment is a loss. */
function gasSettings(read: Read, chainId: number): Pick<EvmSettings, 'gas' | 'minAmount'> {
  const perPayment = usd('PAYMENTS_MAX_GAS_USD', read('PAYMENTS_MAX_GAS_USD') ?? MAX_GAS_USD)
  const coin = usd('PAYMENTS_EVM_NATIVE_USD', read('PAYMENTS_EVM_NATIVE_USD') ?? chainDefaults(chainId).coinUsd)
  const minPrice = read('PAYMENTS_EVM_MIN_PRICE_USD')
  return {
    gas: { maxFeePerGas: maxFee(read), maxCostPerPayment: (BigInt(perPayment) * WEI_PER_COIN) / BigInt(coin) },
    minAmount: minPrice === null ? perPayment : usd('PAYMENTS_EVM_MIN_PRICE_USD', minPrice),
  }
}

function maxFee(read: Read): bigint | null {
  const text = read('PAYMENTS_EVM_MAX_FEE_GWEI')
  if (text === null) return null
  const [, gwei = '', rest = ''] = /^(\d{1,6})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  const wei = BigInt(gwei + rest.padEnd(9, '0'))
  if (wei === 0n)
    throw new ConfigError(`PAYMENTS_EVM_MAX_FEE_GWEI must be a number of gwei above zero such as 0.02, not "${text}"`)
  return wei
}
