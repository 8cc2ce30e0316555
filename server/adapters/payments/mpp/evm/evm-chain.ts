import { type Chain, type Client, createClient, defineChain, type HttpTransport, http } from 'viem'

export interface ChainOptions {
  readonly rpcUrl: string
  readonly chainId: number
  /** Timeout of one request to the node. */
  readonly rpcTimeoutMs?: number
}

const RPC_TIMEOUT_MS = 5000

/** Any EVM chain, by its id; its node provides everything else. */
export function chainOf({ rpcUrl, chainId }: ChainOptions): Chain {
  return defineChain({
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    // Only the block's price is paid, and a stuck transaction costs more than a higher limit.
    fees: { baseFeeMultiplier: 2 },
  })
}

/** Calls per batched request to a node: providers refuse more. */
const MAX_BATCH = 20

/** No retries: a waiting caller must not wait for three more attempts. */
export function transportOf({ rpcUrl, rpcTimeoutMs = RPC_TIMEOUT_MS }: ChainOptions): HttpTransport {
  return http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: 0 })
}

/** For reads: concurrent calls are batched into one request. */
export function batchingTransportOf({ rpcUrl, rpcTimeoutMs = RPC_TIMEOUT_MS }: ChainOptions): HttpTransport {
  return http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: 0, batch: { batchSize: MAX_BATCH } })
}

export function chainClient(options: ChainOptions): Client<HttpTransport, Chain> {
  return createClient({ chain: chainOf(options), transport: transportOf(options) })
}
