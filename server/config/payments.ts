import { hkdfSync } from 'node:crypto'
import { type ChainPace, chainPace } from './chain-defaults'
import { chainAddress, nodeUrl, type Read, refusePublished, whole } from './chain-values'
import { ConfigError } from './config-error'
import { type EvmSettings, evmSettings } from './evm-payments'

/** The chain, the token and the recipient of the `tempo` method. */
export interface TempoSettings extends ChainPace {
  readonly rpcUrl: string
  readonly chainId: number
  readonly token: string
  readonly decimals: number
  readonly recipient: string
}

export interface PaymentSettings {
  /** `sandbox`: a local chain with worthless money. */
  readonly rail: 'off' | 'sandbox' | TempoSettings
  /** The `evm` method and x402, in addition to `rail`. */
  readonly evm: EvmSettings | null
  /** Signs the challenges. */
  readonly secret: string
  /** The public host that challenges name. */
  readonly realm: string
  readonly attemptsPerMinute: number
  /** Whether owners may top up with worthless sandbox money, for development. */
  readonly sandboxTopUps: boolean
}

interface Surroundings {
  readonly secretKey: string
  readonly baseUrl: string
  readonly isLoopback: boolean
  readonly environment: 'development' | 'test' | 'production'
}

/** Reads the settings of per-request payments (spec 5.3): `PAYMENTS_*` in the README. */
export function paymentSettings(read: Read, surroundings: Surroundings): PaymentSettings {
  const { secretKey, baseUrl } = surroundings
  const secret = Buffer.from(hkdfSync('sha256', secretKey, '', 'gateway payment challenges v1', 32)).toString('hex')
  const evm = evmSettings(read, surroundings.environment === 'production')
  const mode = paymentMode(read, evm, surroundings)
  const rail = railSettings(mode, read, surroundings)
  return {
    rail,
    evm: mode === 'off' ? null : evm,
    sandboxTopUps: sandboxTopUps(read, rail, surroundings),
    secret: read('PAYMENTS_SECRET') ?? secret,
    realm: read('PAYMENTS_REALM') ?? new URL(baseUrl).hostname,
    attemptsPerMinute: whole('PAYMENTS_ATTEMPTS_RPM', read('PAYMENTS_ATTEMPTS_RPM') ?? '60', 1, 1_000_000),
  }
}

function sandboxTopUps(read: Read, rail: PaymentSettings['rail'], { environment }: Surroundings): boolean {
  const text = read('SANDBOX_TOPUPS') ?? String(rail === 'sandbox')
  if (text !== 'true' && text !== 'false') throw new ConfigError(`SANDBOX_TOPUPS must be true or false, not "${text}"`)
  if (text === 'true' && environment === 'production')
    throw new ConfigError('SANDBOX_TOPUPS must be false in production, because it adds balance without real money')
  return text === 'true'
}

function paymentMode(read: Read, evm: EvmSettings | null, { environment, isLoopback }: Surroundings): string {
  const mode = read('PAYMENTS')
  if (mode === 'evm' && !evm)
    throw new ConfigError('PAYMENTS=evm needs the PAYMENTS_EVM_* settings, such as PAYMENTS_EVM_RPC_URL')
  if (mode !== null) return mode
  if (read('PAYMENTS_RPC_URL')) return 'tempo'
  if (evm) return 'evm'
  return environment === 'development' && isLoopback ? 'sandbox' : 'off'
}

function railSettings(mode: string, read: Read, { environment, isLoopback }: Surroundings): PaymentSettings['rail'] {
  switch (mode) {
    case 'evm':
    case 'off':
      return 'off'
    case 'sandbox':
      if (environment === 'production')
        throw new ConfigError('PAYMENTS must not be sandbox in production, because its money is worthless')
      if (!isLoopback)
        throw new ConfigError(
          'PAYMENTS=sandbox needs a loopback HOST such as 127.0.0.1, because the private keys of its chain are public',
        )
      return 'sandbox'
    case 'tempo':
      return tempo(read, environment)
    default:
      throw new ConfigError(`PAYMENTS must be one of off, sandbox, tempo, evm, not "${mode}"`)
  }
}

function tempo(read: Read, environment: Surroundings['environment']): TempoSettings {
  const recipient = chainAddress(read, 'PAYMENTS_RECIPIENT', 'PAYMENTS=tempo')
  if (environment === 'production') refusePublished('PAYMENTS_RECIPIENT', recipient)
  const chainId = whole('PAYMENTS_CHAIN_ID', read('PAYMENTS_CHAIN_ID') ?? '', 1, 2 ** 31)
  return {
    ...chainPace(read, chainId),
    rpcUrl: nodeUrl(read, 'PAYMENTS_RPC_URL', 'PAYMENTS=tempo'),
    chainId,
    token: chainAddress(read, 'PAYMENTS_TOKEN', 'PAYMENTS=tempo'),
    decimals: whole('PAYMENTS_TOKEN_DECIMALS', read('PAYMENTS_TOKEN_DECIMALS') ?? '6', 6, 18),
    recipient,
  }
}
