import { hkdfSync } from 'node:crypto'
import { PUBLISHED_ACCOUNTS } from '../core/payments/published-accounts'
import { ConfigError } from './config-error'

/** The chain, the token and the recipient of the `tempo` method. */
export interface TempoSettings {
  readonly rpcUrl: string
  readonly chainId: number
  readonly token: string
  readonly decimals: number
  readonly recipient: string
}

export interface PaymentSettings {
  /** `sandbox`: a chain of our own, whose money is worth nothing. */
  readonly rail: 'off' | 'sandbox' | TempoSettings
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

type Read = (name: string) => string | null

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** How one request can be paid for by itself (spec 5.3): the `PAYMENTS_*` settings of the README. */
export function paymentSettings(read: Read, surroundings: Surroundings): PaymentSettings {
  const { secretKey, baseUrl } = surroundings
  const secret = Buffer.from(hkdfSync('sha256', secretKey, '', 'gateway payment challenges v1', 32)).toString('hex')
  const chosen = rail(read, surroundings)
  return {
    rail: chosen,
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

function rail(read: Read, { environment, isLoopback }: Surroundings): PaymentSettings['rail'] {
  const rpcUrl = read('PAYMENTS_RPC_URL')
  const said = read('PAYMENTS') ?? (rpcUrl ? 'tempo' : environment === 'development' && isLoopback ? 'sandbox' : 'off')
  switch (said) {
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
      return tempo(read, rpcUrl, environment)
    default:
      throw new ConfigError(`PAYMENTS must be one of off, sandbox, tempo, not "${said}"`)
  }
}

function tempo(read: Read, rpcUrl: string | null, environment: Surroundings['environment']): TempoSettings {
  const recipient = address('PAYMENTS_RECIPIENT', read('PAYMENTS_RECIPIENT'))
  if (environment === 'production') refusePublished('PAYMENTS_RECIPIENT', recipient)
  return {
    rpcUrl: httpUrl('PAYMENTS_RPC_URL', rpcUrl),
    chainId: whole('PAYMENTS_CHAIN_ID', read('PAYMENTS_CHAIN_ID') ?? '', 1, 2 ** 31),
    token: address('PAYMENTS_TOKEN', read('PAYMENTS_TOKEN')),
    decimals: whole('PAYMENTS_TOKEN_DECIMALS', read('PAYMENTS_TOKEN_DECIMALS') ?? '6', 6, 18),
    recipient,
  }
}

/** The keys of these accounts stand in every manual: what is sent to them belongs to whoever is first. */
function refusePublished(name: string, value: string): void {
  if (
    PUBLISHED_ACCOUNTS.some((account) => [account.address, account.key].some((known) => known === value.toLowerCase()))
  )
    throw new ConfigError(`${name} is a published development account: production refuses it`)
}

function address(name: string, text: string | null): string {
  if (text === null) throw new ConfigError(`${name} is not set; PAYMENTS=tempo needs it`)
  if (!ADDRESS.test(text)) throw new ConfigError(`${name} must be 0x and 40 hex digits`)
  return text
}

function httpUrl(name: string, text: string | null): string {
  const url = text === null ? null : URL.parse(text)
  // The address can hold a token of the provider, so it is not repeated.
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(`${name} must be an http or https address; PAYMENTS=tempo needs it`)
  return url.href
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most))
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, not "${text}"`)
  return value
}
