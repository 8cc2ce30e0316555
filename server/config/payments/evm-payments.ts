import type { Money } from '../../core/money'
import { ConfigError } from '../config-error'
import { group, integer, invalidSetting, type Read, setting, text } from '../schema/setting'
import { type ChainPace, chainDefaults, chainPace } from './chain-defaults'
import {
  chainAddress,
  chainId,
  neededFor,
  nodeUrl,
  positiveUsd,
  privateKey,
  refusePublished,
  usd,
} from './chain-values'

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

/** The price of the cheapest call. With more expensive gas, it would be sold at a loss. */
const MAX_GAS_USD = '0.005'

export const EVM = group(
  'Payments per request: evm and x402',
  "Offers the `evm` method and x402 as well, whatever `PAYMENTS` says but `off`. Set all of the first seven or none; with a facilitator the relayer's key may be missing. More in [payments.md](payments.md).",
  {
    PAYMENTS_EVM_RPC_URL: nodeUrl({ doc: "The chain's node" }),
    PAYMENTS_EVM_CHAIN_ID: chainId({ doc: "The chain's id" }),
    PAYMENTS_EVM_TOKEN: chainAddress({ doc: 'Contract of a token with EIP-3009, such as USDC' }),
    PAYMENTS_EVM_TOKEN_NAME: text({ example: 'USD Coin', doc: "Name in the token's signing domain" }),
    PAYMENTS_EVM_TOKEN_VERSION: text({ example: '2', doc: "Version in the token's signing domain" }),
    PAYMENTS_EVM_RECIPIENT: chainAddress({ doc: "The recipient's address" }),
    PAYMENTS_EVM_RELAYER_KEY: privateKey({
      doc: 'Key of the account that submits the transfers and pays their gas',
    }),
    PAYMENTS_FACILITATOR_URL: setting(
      {
        default: null,
        secret: true,
        example: 'https://facilitator.example.com',
        doc: 'A server that settles x402 payments and pays their gas, instead of the relayer. Its answers are checked on the chain: `PAYMENTS_EVM_RPC_URL` is needed as well',
      },
      { type: 'string', format: 'uri' },
      facilitatorUrl,
    ),
    PAYMENTS_FACILITATOR_AUTHORIZATION: text({
      secret: true,
      is: /^[\x21-\x7e]+( [\x21-\x7e]+)*$/,
      rule: 'the value of an Authorization header, such as "Bearer ..."',
      doc: 'The value of `Authorization` in requests to it',
    }),
    PAYMENTS_EVM_TOKEN_DECIMALS: integer({ default: 6, min: 6, max: 18, doc: 'Decimals of that token, 6 to 18' }),
    PAYMENTS_MAX_GAS_USD: usd({
      default: MAX_GAS_USD,
      doc: 'The most that the gas of one `evm` payment may cost you; while gas costs more, `evm` is not offered. Prices below this are not offered by `evm` ([more](payments.md))',
    }),
    PAYMENTS_EVM_NATIVE_USD: usd({
      default: null,
      otherwise: 'by chain, such as `5000`',
      doc: 'Price of the coin that pays for gas. The default is above its highest price ever',
    }),
    PAYMENTS_EVM_MAX_FEE_GWEI: setting(
      { default: null, example: '0.02', doc: 'Maximum fee per unit of gas' },
      { anyOf: [{ type: 'number' }, { type: 'string' }] },
      maxFee,
    ),
    PAYMENTS_EVM_MIN_PRICE_USD: usd({
      default: null,
      otherwise: '`PAYMENTS_MAX_GAS_USD`',
      doc: 'The lowest price offered by `evm`',
    }),
  },
)

const NEEDED = [
  'PAYMENTS_EVM_RPC_URL',
  'PAYMENTS_EVM_CHAIN_ID',
  'PAYMENTS_EVM_TOKEN',
  'PAYMENTS_EVM_TOKEN_NAME',
  'PAYMENTS_EVM_TOKEN_VERSION',
  'PAYMENTS_EVM_RECIPIENT',
] as const
const RELAYER_KEY = 'PAYMENTS_EVM_RELAYER_KEY'

/** Reads the `PAYMENTS_EVM_*` settings. Null when none is set. */
export function evmSettings(read: Read, production: boolean): EvmSettings | null {
  const { settings } = EVM
  const facilitator = facilitatorSettings(read)
  const names = facilitator ? NEEDED : [...NEEDED, RELAYER_KEY]
  const missing = names.filter((name) => read(name) === null)
  if (missing.length === names.length && read(RELAYER_KEY) === null && !facilitator) return null
  if (missing.length > 0)
    throw new ConfigError(
      `${missing.join(', ')} not set; payments by evm need ${names.length} settings (see PAYMENTS_EVM_* in docs/configuration.md)`,
    )
  const must = neededFor(read, 'the evm method')
  const recipient = must(settings.PAYMENTS_EVM_RECIPIENT)
  const relayerKey = settings.PAYMENTS_EVM_RELAYER_KEY.of(read)
  if (production) refusePublished('PAYMENTS_EVM_RECIPIENT', recipient)
  if (production && relayerKey !== null) refusePublished(RELAYER_KEY, relayerKey)
  const chain = must(settings.PAYMENTS_EVM_CHAIN_ID)
  return {
    ...chainPace(read, chain),
    ...gasSettings(read, chain),
    rpcUrl: must(settings.PAYMENTS_EVM_RPC_URL),
    chainId: chain,
    token: must(settings.PAYMENTS_EVM_TOKEN),
    tokenName: must(settings.PAYMENTS_EVM_TOKEN_NAME),
    tokenVersion: must(settings.PAYMENTS_EVM_TOKEN_VERSION),
    decimals: settings.PAYMENTS_EVM_TOKEN_DECIMALS.of(read),
    recipient,
    relayerKey,
    facilitator,
  }
}

function facilitatorSettings(read: Read): FacilitatorSettings | null {
  const url = EVM.settings.PAYMENTS_FACILITATOR_URL.of(read)
  const authorization = EVM.settings.PAYMENTS_FACILITATOR_AUTHORIZATION.of(read)
  if (url === null && authorization !== null)
    throw new ConfigError('PAYMENTS_FACILITATOR_AUTHORIZATION is set, but PAYMENTS_FACILITATOR_URL is not')
  return url === null ? null : { url, authorization }
}

function facilitatorUrl(given: string, name: string): string {
  const url = URL.parse(given)
  // It can contain a token, so the message does not repeat it.
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search)
    throw invalidSetting(name, 'the http or https URL of a facilitator, such as https://facilitator.example.com', null)
  return url.href
}

const WEI_PER_COIN = 10n ** 18n

/** By default, prices below the gas ceiling cannot be paid this way, so that no payment is a loss. */
function gasSettings(read: Read, chain: number): Pick<EvmSettings, 'gas' | 'minAmount'> {
  const { settings } = EVM
  const perPayment = settings.PAYMENTS_MAX_GAS_USD.of(read)
  const coin =
    settings.PAYMENTS_EVM_NATIVE_USD.of(read) ??
    positiveUsd(chainDefaults(chain).coinUsd, settings.PAYMENTS_EVM_NATIVE_USD.name)
  return {
    gas: {
      maxFeePerGas: settings.PAYMENTS_EVM_MAX_FEE_GWEI.of(read),
      maxCostPerPayment: (BigInt(perPayment) * WEI_PER_COIN) / BigInt(coin),
    },
    minAmount: settings.PAYMENTS_EVM_MIN_PRICE_USD.of(read) ?? perPayment,
  }
}

function maxFee(given: string, name: string): bigint {
  const [, gwei = '', rest = ''] = /^(\d{1,6})(?:\.(\d{1,9}))?$/.exec(given) ?? []
  const wei = BigInt(gwei + rest.padEnd(9, '0'))
  if (wei === 0n) throw invalidSetting(name, 'a number of gwei above zero such as 0.02', given)
  return wei
}
