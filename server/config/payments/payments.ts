import { hkdfSync } from 'node:crypto'
import { ConfigError } from '../config-error'
import { choice, flag, group, integer, type Read, text } from '../schema/setting'
import { type ChainPace, chainPace } from './chain-defaults'
import { chainAddress, chainId, neededFor, nodeUrl, refusePublished } from './chain-values'
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

export const PAYMENTS = group(
  'Payments per request',
  'How callers without an account pay. More in [payments.md](payments.md).',
  {
    PAYMENTS: choice({
      default: null,
      otherwise: '`sandbox` on loopback in development, else `off`',
      values: ['off', 'sandbox', 'tempo', 'evm'],
      doc: '`sandbox`: a local chain with worthless money (needs the optional package `@foundry-rs/anvil`; without it the 402 offers keys only). `tempo`: the chain of the next lines. `evm`: a token of any EVM chain alone. Production refuses `sandbox`',
    }),
    PAYMENTS_RPC_URL: nodeUrl({ doc: 'A node of the chain. Sets `PAYMENTS=tempo`' }),
    PAYMENTS_CHAIN_ID: chainId({ doc: "The chain's id" }),
    PAYMENTS_TOKEN: chainAddress({ doc: "The token's contract. A whole token is a dollar" }),
    PAYMENTS_RECIPIENT: chainAddress({ doc: "The recipient's address" }),
    PAYMENTS_TOKEN_DECIMALS: integer({ default: 6, min: 6, max: 18, doc: 'Decimals of the token, 6 to 18' }),
    PAYMENTS_SECRET: text({
      secret: true,
      is: /^.{32,}$/,
      rule: 'at least 32 characters. Create one with: openssl rand -base64 32',
      otherwise: 'derived from `SECRET_KEY`',
      doc: 'Signs challenges; at least 32 bytes',
    }),
    PAYMENTS_ATTEMPTS_RPM: integer({
      default: 60,
      min: 1,
      max: 1_000_000,
      doc: 'Payment credentials that an address may try per minute; successful ones do not count',
    }),
    SANDBOX_TOPUPS: flag({
      default: null,
      otherwise: '`true` with `PAYMENTS=sandbox`',
      doc: 'Whether owners may top up with worthless money. Not allowed in production',
    }),
  },
)

/** Reads the settings of per-request payments (spec 5.3). */
export function paymentSettings(read: Read, surroundings: Surroundings): PaymentSettings {
  const { secretKey, baseUrl } = surroundings
  const { PAYMENTS_SECRET, PAYMENTS_ATTEMPTS_RPM } = PAYMENTS.settings
  const secret = Buffer.from(hkdfSync('sha256', secretKey, '', 'gateway payment challenges v1', 32)).toString('hex')
  const evm = evmSettings(read, surroundings.environment === 'production')
  const mode = paymentMode(read, evm, surroundings)
  const rail = railSettings(mode, read, surroundings)
  return {
    rail,
    evm: mode === 'off' ? null : evm,
    sandboxTopUps: sandboxTopUps(read, rail, surroundings),
    secret: PAYMENTS_SECRET.of(read) ?? secret,
    realm: new URL(baseUrl).hostname,
    attemptsPerMinute: PAYMENTS_ATTEMPTS_RPM.of(read),
  }
}

function sandboxTopUps(read: Read, rail: PaymentSettings['rail'], { environment }: Surroundings): boolean {
  const allowed = PAYMENTS.settings.SANDBOX_TOPUPS.of(read) ?? rail === 'sandbox'
  if (allowed && environment === 'production')
    throw new ConfigError('SANDBOX_TOPUPS must be false in production, because it adds balance without real money')
  return allowed
}

type PaymentMode = 'off' | 'sandbox' | 'tempo' | 'evm'

function paymentMode(read: Read, evm: EvmSettings | null, { environment, isLoopback }: Surroundings): PaymentMode {
  const mode = PAYMENTS.settings.PAYMENTS.of(read)
  if (mode === 'evm' && !evm)
    throw new ConfigError('PAYMENTS=evm needs the PAYMENTS_EVM_* settings, such as PAYMENTS_EVM_RPC_URL')
  if (mode !== null) return mode
  if (PAYMENTS.settings.PAYMENTS_RPC_URL.of(read) !== null) return 'tempo'
  // The sandbox is offered in addition to evm.
  if (environment === 'development' && isLoopback) return 'sandbox'
  return evm ? 'evm' : 'off'
}

function railSettings(
  mode: PaymentMode,
  read: Read,
  { environment, isLoopback }: Surroundings,
): PaymentSettings['rail'] {
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
  }
}

function tempo(read: Read, environment: Surroundings['environment']): TempoSettings {
  const { settings } = PAYMENTS
  const must = neededFor(read, 'PAYMENTS=tempo')
  const recipient = must(settings.PAYMENTS_RECIPIENT)
  if (environment === 'production') refusePublished('PAYMENTS_RECIPIENT', recipient)
  const chain = must(settings.PAYMENTS_CHAIN_ID)
  return {
    ...chainPace(read, chain),
    rpcUrl: must(settings.PAYMENTS_RPC_URL),
    chainId: chain,
    token: must(settings.PAYMENTS_TOKEN),
    decimals: settings.PAYMENTS_TOKEN_DECIMALS.of(read),
    recipient,
  }
}
