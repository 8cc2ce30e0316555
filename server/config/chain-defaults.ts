import { type Read, whole } from './chain-values'

/** When money on a chain counts, and when the chain stands still. */
export interface ChainPace {
  /** In how many blocks, its own included, money must stand before it counts for good. */
  readonly confirmations: number
  /** The oldest that its last block may be; null where blocks are made only when there is something in them. */
  readonly maxBlockAgeMs: number | null
}

/** What is known of a chain by its id; settings go before it. */
export interface ChainDefaults {
  readonly confirmations: number
  readonly maxBlockAgeSeconds: number
  /** More than a whole coin of it has ever cost, in USD: a ceiling by it is too low rather than too high. */
  readonly coinUsd: string
}

const ETHER = '5000'
const rollup = (confirmations: number): ChainDefaults => ({ confirmations, maxBlockAgeSeconds: 60, coinUsd: ETHER })
const ETHEREUM: ChainDefaults = { confirmations: 12, maxBlockAgeSeconds: 180, coinUsd: ETHER }
/** Final in its first block, two of which are made in a second. */
const TEMPO: ChainDefaults = { confirmations: 1, maxBlockAgeSeconds: 20, coinUsd: ETHER }
/** On this machine, where blocks are made only when there is something in them. */
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

/** Of a chain that nobody knows here: as slow as Ethereum, and as dear. */
export function chainDefaults(chainId: number): ChainDefaults {
  return KNOWN[chainId] ?? ETHEREUM
}

/** The pace of a chain, as `PAYMENTS_CONFIRMATIONS` and `PAYMENTS_MAX_BLOCK_AGE_SECONDS` say, or as is known of it. */
export function chainPace(read: Read, chainId: number): ChainPace {
  const known = chainDefaults(chainId)
  const number = (name: string, usual: number, least: number) =>
    whole(name, read(name) ?? String(usual), least, 100_000)
  const seconds = number('PAYMENTS_MAX_BLOCK_AGE_SECONDS', known.maxBlockAgeSeconds, 0)
  return {
    confirmations: number('PAYMENTS_CONFIRMATIONS', known.confirmations, 1),
    maxBlockAgeMs: seconds === 0 ? null : seconds * 1000,
  }
}
