import { chainAddress, nodeUrl, type Read, refusePublished, whole } from './chain-values'
import { ConfigError } from './config-error'

/** The chain, the token, the recipient and the relayer of the `evm` method and of x402. */
export interface EvmSettings {
  readonly rpcUrl: string
  readonly chainId: number
  /** The contract of an ERC-20 token with `transferWithAuthorization` (EIP-3009). */
  readonly token: string
  /** As the token's own signing domain names them (EIP-712). */
  readonly tokenName: string
  readonly tokenVersion: string
  readonly decimals: number
  readonly recipient: string
  /** Brings the transfers to the chain, and pays their gas. */
  readonly relayerKey: string
}

const NEEDED = [
  'PAYMENTS_EVM_RPC_URL',
  'PAYMENTS_EVM_CHAIN_ID',
  'PAYMENTS_EVM_TOKEN',
  'PAYMENTS_EVM_TOKEN_NAME',
  'PAYMENTS_EVM_TOKEN_VERSION',
  'PAYMENTS_EVM_RECIPIENT',
  'PAYMENTS_EVM_RELAYER_KEY',
] as const

/** The `PAYMENTS_EVM_*` settings of the README: all of them, or null when there is none. */
export function evmSettings(read: Read, production: boolean): EvmSettings | null {
  const missing = NEEDED.filter((name) => read(name) === null)
  if (missing.length === NEEDED.length) return null
  if (missing.length > 0) throw new ConfigError(`payments by evm are half set: ${missing.join(', ')} missing`)
  const recipient = chainAddress(read, 'PAYMENTS_EVM_RECIPIENT', 'the evm method')
  const relayerKey = read('PAYMENTS_EVM_RELAYER_KEY') ?? ''
  // A secret: what stands there is not repeated.
  if (!/^0x[0-9a-fA-F]{64}$/.test(relayerKey))
    throw new ConfigError('PAYMENTS_EVM_RELAYER_KEY must be 0x and 64 hex digits')
  if (production) refusePublished('PAYMENTS_EVM_RECIPIENT', recipient)
  if (production) refusePublished('PAYMENTS_EVM_RELAYER_KEY', relayerKey)
  return {
    rpcUrl: nodeUrl(read, 'PAYMENTS_EVM_RPC_URL', 'the evm method'),
    chainId: whole('PAYMENTS_EVM_CHAIN_ID', read('PAYMENTS_EVM_CHAIN_ID') ?? '', 1, 2 ** 31),
    token: chainAddress(read, 'PAYMENTS_EVM_TOKEN', 'the evm method'),
    tokenName: read('PAYMENTS_EVM_TOKEN_NAME') ?? '',
    tokenVersion: read('PAYMENTS_EVM_TOKEN_VERSION') ?? '',
    decimals: whole('PAYMENTS_EVM_TOKEN_DECIMALS', read('PAYMENTS_EVM_TOKEN_DECIMALS') ?? '6', 6, 18),
    recipient,
    relayerKey,
  }
}
