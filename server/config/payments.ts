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
  /** `sandbox`: a chain of our own, whose money is worth nothing. */
  readonly rail: 'off' | 'sandbox' | TempoSettings
  /** The `evm` method and x402, beside it. */
  readonly evm: EvmSettings | null
  /** Signs the challenges. */
  readonly secret: string
  /** The public host that challenges name. */
  readonly realm: string
  readonly attemptsPerMinute: number
  /** Whether owners may top up by money that is worth nothing, for development. */
  readonly sandboxTopUps: boolean
}

interface Surroundings {
  readonly secretKey: string
  readonly baseUrl: string
  readonly isLoopback: boolean
  readonly environment: 'development' | 'test' | 'production'
}

/** How one request can be paid for by itself (spec 5.3): the `PAYMENTS_*` settings of the README. */
export function paymentSettings(read: Read, surroundings: Surroundings): PaymentSettings {
  const { secretKey, baseUrl } = surroundings
  const secret = Buffer.from(hkdfSync('sha256', secretKey, '', 'gateway payment challenges v1', 32)).toString('hex')
  const evm = evmSettings(read, surroundings.environment === 'production')
  const said = kind(read, evm, surroundings)
  const chosen = rail(said, read, surroundings)
  return {
    rail: chosen,
    evm: said === 'off' ? null : evm,
    sandboxTopUps: sandboxTopUps(read, chosen, surroundings),
    secret: read('PAYMENTS_SECRET') ?? secret,
    realm: read('PAYMENTS_REALM') ?? new URL(baseUrl).hostname,
    attemptsPerMinute: whole('PAYMENTS_ATTEMPTS_RPM', read('PAYMENTS_ATTEMPTS_RPM') ?? '60', 1, 1_000_000),
  }
}

function sandboxTopUps(read: Read, chosen: PaymentSettings['rail'], { environment }: Surroundings): boolean {
  const said = read('SANDBOX_TOPUPS') ?? String(chosen === 'sandbox')
  if (said !== 'true' && said !== 'false') throw new ConfigError('SANDBOX_TOPUPS must be true or false')
  if (said === 'true' && environment === 'production')
    throw new ConfigError('SANDBOX_TOPUPS gives balance for nothing: production refuses it')
  return said === 'true'
}

function kind(read: Read, evm: EvmSettings | null, { environment, isLoopback }: Surroundings): string {
  const said = read('PAYMENTS')
  if (said === 'evm' && !evm) throw new ConfigError('PAYMENTS=evm needs the PAYMENTS_EVM_* settings')
  if (said !== null) return said
  if (read('PAYMENTS_RPC_URL')) return 'tempo'
  if (evm) return 'evm'
  return environment === 'development' && isLoopback ? 'sandbox' : 'off'
}

function rail(said: string, read: Read, { environment, isLoopback }: Surroundings): PaymentSettings['rail'] {
  switch (said) {
    case 'evm':
    case 'off':
      return 'off'
    case 'sandbox':
      if (environment === 'production')
        throw new ConfigError('PAYMENTS=sandbox takes money that is worth nothing: production refuses it')
      if (!isLoopback)
        throw new ConfigError(
          'PAYMENTS=sandbox is for this machine only, because its keys are public: HOST must be loopback',
        )
      return 'sandbox'
    case 'tempo':
      return tempo(read, environment)
    default:
      throw new ConfigError(`PAYMENTS must be one of off, sandbox, tempo, evm, not "${said}"`)
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
