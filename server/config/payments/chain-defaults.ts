import { group, integer, type Read } from '../schema/setting'

/** When money on a chain is final, and when the chain counts as stalled. */
export interface ChainPace {
  /** The number of blocks, including its own, after which a payment is final. */
  readonly confirmations: number
  /** The maximum age of the latest block; null for chains that only make blocks for transactions. */
  readonly maxBlockAgeMs: number | null
}

/** The defaults of a known chain. Settings take precedence. */
export interface ChainDefaults {
  readonly confirmations: number
  readonly maxBlockAgeSeconds: number
  /** An upper bound for the price of the native coin in USD, so that gas ceilings are rather too low than too high. */
  readonly coinUsd: string
}

const ETHER = '5000'
const rollup = (confirmations: number): ChainDefaults => ({ confirmations, maxBlockAgeSeconds: 60, coinUsd: ETHER })
const ETHEREUM: ChainDefaults = { confirmations: 12, maxBlockAgeSeconds: 180, coinUsd: ETHER }
/** Final after one block; about two blocks per second. */
const TEMPO: ChainDefaults = { confirmations: 1, maxBlockAgeSeconds: 20, coinUsd: ETHER }
/** Development chains on this machine only make blocks for transactions. */
const DEVELOPMENT: ChainDefaults = { confirmations: 1, maxBlockAgeSeconds: 0, coinUsd: '0.01' }

const KNOWN: Readonly<Record<number, ChainDefaults>> = {
  1: ETHEREUM,
  11155111: ETHEREUM,
  17000: ETHEREUM,
  10: rollup(10),
  8453: rollup(10),
  84532: rollup(10),
  11155420: rollup(10),
  130: rollup(10),
  42161: rollup(40),
  421614: rollup(40),
  59144: rollup(10),
  56: { confirmations: 15, maxBlockAgeSeconds: 60, coinUsd: '2000' },
  100: { confirmations: 12, maxBlockAgeSeconds: 120, coinUsd: '2' },
  137: { confirmations: 64, maxBlockAgeSeconds: 60, coinUsd: '3' },
  80002: { confirmations: 64, maxBlockAgeSeconds: 60, coinUsd: '3' },
  43114: { confirmations: 1, maxBlockAgeSeconds: 60, coinUsd: '150' },
  43113: { confirmations: 1, maxBlockAgeSeconds: 60, coinUsd: '150' },
  42220: { confirmations: 3, maxBlockAgeSeconds: 60, coinUsd: '10' },
  4217: TEMPO,
  42431: TEMPO,
  31318: TEMPO,
  1337: DEVELOPMENT,
  31337: DEVELOPMENT,
}

/** The defaults of a chain. Unknown chains are treated like Ethereum, the slowest and most expensive. */
export function chainDefaults(chainId: number): ChainDefaults {
  return KNOWN[chainId] ?? ETHEREUM
}

export const CHAIN_PACE = group('When a payment counts', 'For both methods.', {
  PAYMENTS_CONFIRMATIONS: integer({
    default: null,
    min: 1,
    max: 100_000,
    otherwise: 'by chain, such as `12`',
    doc: 'Confirmations a top-up needs before it counts',
  }),
  PAYMENTS_MAX_BLOCK_AGE_SECONDS: integer({
    default: null,
    min: 0,
    max: 100_000,
    otherwise: 'by chain, such as `60`',
    doc: 'Maximum age of the last block; `0` turns the check off',
  }),
})

/** The pace of a chain: as set, or the defaults of the chain. */
export function chainPace(read: Read, chainId: number): ChainPace {
  const { PAYMENTS_CONFIRMATIONS, PAYMENTS_MAX_BLOCK_AGE_SECONDS } = CHAIN_PACE.settings
  const defaults = chainDefaults(chainId)
  const seconds = PAYMENTS_MAX_BLOCK_AGE_SECONDS.of(read) ?? defaults.maxBlockAgeSeconds
  return {
    confirmations: PAYMENTS_CONFIRMATIONS.of(read) ?? defaults.confirmations,
    maxBlockAgeMs: seconds === 0 ? null : seconds * 1000,
  }
}
