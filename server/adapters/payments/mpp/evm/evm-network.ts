import { type Address, type Client, createClient, getAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { readContract } from 'viem/actions'
import type { Money } from '../../../../core/money'
import { ChainWatch } from '../chain/chain-watch'
import { type GasCeiling, GasPrices } from '../chain/gas-prices'
import { ofNetwork, Relayer } from '../chain/relayer'
import { EIP3009_ABI } from './eip3009'
import { batchingTransportOf, type ChainOptions, chainOf, transportOf } from './evm-chain'
import type { WireOptions } from './evm-wire'
import { Facilitator, type FacilitatorOptions } from './facilitator'

export interface EvmNetworkOptions extends ChainOptions {
  readonly token: string
  readonly recipient: string
  /** Sends the transfers to the chain and pays their gas. Null if a facilitator does. */
  readonly relayerKey: string | null
  /** Settles authorizations instead of the relayer. */
  readonly facilitator?: FacilitatorOptions | null
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

/** Settings of the payment methods of an EVM chain. */
export interface EvmOptions extends EvmNetworkOptions, WireOptions {
  /** The smallest price offered this way: below it, gas could cost more than the payment. */
  readonly minAmount: Money
  /** Confirmations (the payment's own block included) that make a payment final. */
  readonly confirmations: number
}

/** The shared parts of the methods of one chain and token: the relayer must be one, since it counts the nonces of its account. */
export interface EvmNetwork {
  readonly token: Address
  /** For reads: concurrent calls are batched. */
  readonly reads: Client
  /** Our own account that sends; null without one. */
  readonly relayed: { readonly relayer: Relayer; readonly watch: ChainWatch } | null
  /** The facilitator that sends authorizations instead; null without one. */
  readonly facilitated: { readonly facilitator: Facilitator; readonly watch: ChainWatch } | null
  balance(payer: string): Promise<bigint | null>
  /** The relayer's coins for gas, in whole coins, when it was last read; null before. */
  fuel(): number | null
}

/** A network with an account of our own that sends. */
export interface RelayedNetwork {
  readonly relayed: NonNullable<EvmNetwork['relayed']>
}

export function evmNetwork(options: EvmNetworkOptions): EvmNetwork {
  const { chainId } = options
  const token = getAddress(options.token)
  const chain = chainOf(options)
  const reads: Client = createClient({ chain, transport: batchingTransportOf(options) })
  const sends: Client = createClient({ chain, transport: transportOf(options) })
  const waitMs = options.blockWaitMs ?? BLOCK_WAIT_MS
  const open = (key: string) => {
    const account = privateKeyToAccount(key as Address) // the configuration validated its form
    const gas = new GasPrices(reads, account.address, options.gas, options.now)
    return { gas, relayer: new Relayer({ account, chainId, reads, sends, gas, waitMs }) }
  }
  const own = options.relayerKey === null ? null : open(options.relayerKey)
  const facilitator = options.facilitator ? new Facilitator(options.facilitator, chainId, options.now) : null
  const watch = new ChainWatch(reads, { ...options, ...(own && { also: () => own.relayer.problem() }) })
  const facilitated = facilitator && {
    facilitator,
    watch: new ChainWatch(reads, { ...options, also: async () => ofNetwork(await facilitator.problem()) }),
  }
  return {
    token,
    reads,
    relayed: own && { relayer: own.relayer, watch },
    facilitated,
    fuel: () => own?.gas.fuel ?? null,
    async balance(payer) {
      const args = [payer as Address] as const
      return readContract(reads, { address: token, abi: EIP3009_ABI, functionName: 'balanceOf', args }).catch(
        () => null,
      )
    },
  }
}
