import { type Address, type Client, createClient, getAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readContract } from 'viem/actions'
import { ChainWatch } from './chain-watch'
import { EIP3009_ABI } from './eip3009'
import { batchingTransportOf, type ChainOptions, chainOf, transportOf } from './evm-chain'
import { type GasCeiling, GasPrices } from './gas-prices'
import { Relayer } from './relayer'

export interface EvmNetworkOptions extends ChainOptions {
  readonly token: string
  readonly recipient: string
  /** Sends the transfers to the chain and pays their gas. */
  readonly relayerKey: string
  readonly gas: GasCeiling
  /** The maximum age of the last block; null for a chain that makes blocks only for transactions. */
  readonly maxBlockAgeMs: number | null
  readonly now: () => number
  readonly onTrouble: (what: string, reason: string) => void
  /** How long one attempt waits for a block. */
  readonly blockWaitMs?: number
}

/** Two of these waits and the requests between them fit into the time that an attempt has for settling. */
const BLOCK_WAIT_MS = 10_000

/** What the methods of one chain and token share: the relayer must be one, since it counts the nonces of its account. */
export interface EvmNetwork {
  readonly token: Address
  /** For reads: concurrent calls are batched. */
  readonly reads: Client
  readonly relayer: Relayer
  readonly watch: ChainWatch
  balance(payer: string): Promise<bigint | null>
  /** What the relayer has left to pay for gas, in whole coins, when it was last read; null before. */
  fuel(): number | null
}

export function evmNetwork(options: EvmNetworkOptions): EvmNetwork {
  const { chainId } = options
  const token = getAddress(options.token)
  const account = privateKeyToAccount(options.relayerKey as Address) // the configuration validated its form
  const chain = chainOf(options)
  const reads: Client = createClient({ chain, transport: batchingTransportOf(options) })
  const sends: Client = createClient({ chain, transport: transportOf(options) })
  const gas = new GasPrices(reads, account.address, options.gas, options.now)
  const waitMs = options.blockWaitMs ?? BLOCK_WAIT_MS
  const relayer = new Relayer({ account, chainId, reads, sends, gas, waitMs })
  const watch = new ChainWatch(reads, { ...options, also: async () => relayer.problem() ?? (await gas.problem()) })
  return {
    ...{ token, reads, relayer, watch },
    fuel: () => gas.fuel,
    async balance(payer) {
      const args = [payer as Address] as const
      return readContract(reads, { address: token, abi: EIP3009_ABI, functionName: 'balanceOf', args }).catch(
        () => null,
      )
    },
  }
}
