import { type Chain, type Client, createClient, defineChain, type HttpTransport, http } from 'viem'

export interface ChainOptions {
  readonly rpcUrl: string
  readonly chainId: number
  /** How long one question to the node may take. */
  readonly rpcTimeoutMs?: number
}

const RPC_TIMEOUT_MS = 5000

/** Any chain of Ethereum's kind, by its id: what else there is to know of it its node tells. */
export function chainOf({ rpcUrl, chainId }: ChainOptions): Chain {
  return defineChain({
    id: chainId,
    name: `eip155:${chainId}`,
    nativeCurrency: { name: 'native', symbol: 'native', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    // Paid is what the block asks; a transaction that waits costs more than one that may.
    fees: { baseFeeMultiplier: 2 },
  })
}

/** How many questions one request to a node carries: providers refuse more. */
const MAX_BATCH = 20

/** Whoever waits for an answer must not wait for three more tries. */
export function transportOf({ rpcUrl, rpcTimeoutMs = RPC_TIMEOUT_MS }: ChainOptions): HttpTransport {
  return http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: 0 })
}

/** For reading: questions of one moment go in one request. */
export function batchingTransportOf({ rpcUrl, rpcTimeoutMs = RPC_TIMEOUT_MS }: ChainOptions): HttpTransport {
  return http(rpcUrl, { timeout: rpcTimeoutMs, retryCount: 0, batch: { batchSize: MAX_BATCH } })
}

export function chainClient(options: ChainOptions): Client<HttpTransport, Chain> {
  return createClient({ chain: chainOf(options), transport: transportOf(options) })
}
