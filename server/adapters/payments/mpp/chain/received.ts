import { type Address, type Client, type Hex, hexToBigInt, hexToNumber, numberToHex, pad, slice } from 'viem'
import { getBlock, getChainId } from 'viem/actions'
import type { ReceivedTransfers, Transfer } from '../../../../core/payments/method'
import { type BlockHead, blockBefore, TRANSFER } from '../evm/eip3009'

export interface ReceivedOptions {
  readonly chainId: number
  readonly token: string
  readonly recipient: string
  readonly freshen?: () => Promise<void>
}

/** Blocks per question; fewer after a node refuses. */
const MAX_BLOCKS = 1000n
/** The maximum number of transfers of one comparison. */
const MAX_TRANSFERS = 200_000

interface TransferLog {
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly transactionHash: Hex | null
  /** Not every node says it. */
  readonly blockTimestamp?: Hex | null | undefined
}

/** The transfers of the token that its recipient got, from the logs of the chain. */
export function receivedTransfers(
  client: Client,
  { chainId, token, recipient, freshen }: ReceivedOptions,
): ReceivedTransfers {
  return {
    network: `eip155:${chainId}:${token.toLowerCase()}:${recipient.toLowerCase()}`,
    async between(from, to): Promise<readonly Transfer[] | null> {
      await freshen?.()
      const [answered, latest] = await Promise.all([getChainId(client), getBlock(client, { blockTag: 'latest' })])
      if (answered !== chainId) throw new Error(`the node serves chain ${answered}, not ${chainId}`)
      const transfers: Transfer[] = []
      const [first, end] = [await firstBlockFrom(client, from, latest), await firstBlockFrom(client, to, latest)]
      let step = MAX_BLOCKS
      for (let block = first; block < end; ) {
        const last = block + step > end ? end - 1n : block + step - 1n
        const filter = {
          address: token as Address,
          topics: [TRANSFER, null, pad(recipient as Hex)],
          fromBlock: numberToHex(block),
          toBlock: numberToHex(last),
        }
        const logs = await client.request({ method: 'eth_getLogs', params: [filter] }).catch((error: unknown) => {
          if (step === 1n) throw error
          return null
        })
        if (!logs) {
          step /= 2n
          continue
        }
        for (const log of logs) transfers.push(...transferOf(log))
        if (transfers.length > MAX_TRANSFERS) return null
        block = last + 1n
      }
      return transfers
    },
  }
}

function transferOf({ topics, data, transactionHash, blockTimestamp }: TransferLog): Transfer[] {
  const [, from] = topics
  const units = data === '0x' ? 0n : hexToBigInt(data)
  // A transfer of nothing, such as our own check of the token, pays for nothing.
  if (!transactionHash || !from || units === 0n) return []
  const at = blockTimestamp ? hexToNumber(blockTimestamp) * 1000 : null
  return [{ reference: transactionHash, payer: slice(from, 12), units, at }]
}

/** The first block at or after a time (ms); one past the latest if there is none. */
async function firstBlockFrom(client: Client, moment: number, latest: BlockHead): Promise<bigint> {
  const seconds = Math.ceil(moment / 1000)
  if (Number(latest.timestamp) < seconds) return latest.number + 1n
  let low = await blockBefore(client, seconds, latest)
  let high = latest.number
  while (low < high) {
    const middle = (low + high) / 2n
    const { timestamp } = await getBlock(client, { blockNumber: middle })
    if (Number(timestamp) < seconds) low = middle + 1n
    else high = middle
  }
  return low
}
