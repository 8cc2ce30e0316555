import { type Address, type Client, type Hex, numberToHex, pad, parseAbi, type TransactionReceipt } from 'viem'
import { getBlock, getChainId, getTransaction, getTransactionReceipt, readContract } from 'viem/actions'
import type { PaymentFate, SettlementHandle } from '../../../../core/payments/method'
import type { RelayedReceipt } from '../chain/relayer'
import { type BlockHead, logsOf, REORG_MS, TRANSFER } from '../evm/eip3009'
import { PERMIT2, type Permit, settledBy, UPTO_PROXY } from './permit2'

const NONCES_ABI = parseAbi(['function nonceBitmap(address owner, uint256 word) view returns (uint256)'])
/** Transactions that are read at the same time. */
const AT_ONCE = 20

/** A permit with its chain: all that a look-up needs, even if the configuration has changed. */
type Named = Pick<Permit, 'token' | 'from' | 'to' | 'facilitator' | 'nonce'> & { readonly chainId: number }

/** Encodes it as text, for `SettlementHandle.transaction`. */
export function permitName(chainId: number, { token, from, to, facilitator, nonce }: Permit): string {
  return [`eip155:${chainId}`, 'permit2', token, from, to, facilitator, numberToHex(nonce)].join('/')
}

function namedBy(text: string): Named | null {
  const [, chainId, token, from, to, facilitator, nonce] =
    /^eip155:(\d+)\/permit2\/(0x\w{40})\/(0x\w{40})\/(0x\w{40})\/(0x\w{40})\/(0x\w+)$/.exec(text) ?? []
  if (!chainId || !token || !from || !to || !facilitator || !nonce) return null
  return { chainId: Number(chainId), token, from, to, facilitator, nonce: BigInt(nonce) }
}

export interface PermitFate {
  readonly fate: PaymentFate
  /** The nonce is spent, or about to be in the pending block. */
  readonly used: boolean
}

/**
 * The outcome of a permit. Permit2 logs no event, so a spent nonce shows only that something spent it: it counts as paid if a transaction
 * of the account that the payer signed for moved what it was called with. A payer can spend the nonce otherwise; then it cannot be settled any more,
 * but the node may also be late, so the outcome is open until the permit has expired. Throws when the node does not answer.
 */
export async function permitFateOf(
  client: Client,
  handle: SettlementHandle,
  confirmations: number,
): Promise<PermitFate> {
  const named = namedBy(handle.transaction)
  if (!named || named.chainId !== client.chain?.id) return UNSEEN
  const [chainId, latest] = await Promise.all([getChainId(client), getBlock(client, { blockTag: 'latest' })])
  // A node that switched to another chain knows nothing about ours.
  if (chainId !== named.chainId) return UNSEEN
  const { from, nonce } = named
  const word = {
    address: PERMIT2,
    abi: NONCES_ABI,
    functionName: 'nonceBitmap',
    args: [from as Address, nonce >> 8n],
  } as const
  const isSpent = (bits: bigint) => ((bits >> (nonce & 255n)) & 1n) === 1n
  const [used, usedNext] = await Promise.all([
    readContract(client, { ...word, blockNumber: latest.number }).then(isSpent),
    // It may be pending. Not every node can report that.
    readContract(client, { ...word, blockTag: 'pending' }).then(isSpent, () => false),
  ])
  const paid = used ? await paymentOf(client, named, handle, latest) : null
  if (paid) {
    const isFinal = latest.number - paid.blockNumber + 1n >= BigInt(confirmations)
    return { fate: { kind: 'settled', reference: paid.transactionHash, isFinal }, used }
  }
  // Its deadline is over by the chain's own time.
  const isOver = handle.validBefore !== null && Number(latest.timestamp) * 1000 > handle.validBefore + REORG_MS
  return { fate: { kind: isOver ? 'never' : 'open' }, used: used || usedNext }
}

const UNSEEN: PermitFate = { fate: { kind: 'open' }, used: false }

/** The transaction that settled a permit, found among the payer's transfers to the recipient. */
async function paymentOf(
  client: Client,
  named: Named,
  handle: SettlementHandle,
  latest: BlockHead,
): Promise<TransactionReceipt | null> {
  const topics = [TRANSFER, pad(named.from as Hex), pad(named.to as Hex)]
  for await (const logs of logsOf(client, handle, latest, { address: named.token as Address, topics })) {
    const hashes = logs.flatMap(({ transactionHash }) => transactionHash ?? [])
    // Anybody may send the recipient many transfers, so the newest come first, and a few at a time.
    for (let end = hashes.length; end > 0; end -= AT_ONCE) {
      const some = hashes.slice(Math.max(0, end - AT_ONCE), end)
      const found = await Promise.all(some.map((hash) => paymentIn(client, named, hash)))
      const paid = found.find((receipt) => receipt !== null)
      if (paid) return paid
    }
  }
  return null
}

async function paymentIn(client: Client, named: Named, hash: Hex): Promise<TransactionReceipt | null> {
  const { to, input } = await getTransaction(client, { hash })
  const settled = to?.toLowerCase() === UPTO_PROXY.toLowerCase() ? settledBy(input) : null
  const { from, facilitator, nonce } = named
  if (settled?.from !== from || settled.facilitator !== facilitator || settled.nonce !== nonce) return null
  const receipt = await getTransactionReceipt(client, { hash })
  return hasSettled(receipt, named, settled.amount) ? receipt : null
}

/** Whether a mined transaction moved exactly this amount from the payer to the recipient, once. */
export function hasSettled(
  { status, logs }: RelayedReceipt,
  { token, from, to }: Pick<Permit, 'token' | 'from' | 'to'>,
  amount: bigint,
): boolean {
  if (status !== 'success') return false
  const received = logs.filter(
    ({ address, topics }) =>
      address.toLowerCase() === token && topics[0] === TRANSFER && topics[2] === pad(to as Hex).toLowerCase(),
  )
  const [only] = received
  return (
    only !== undefined &&
    received.length === 1 &&
    only.topics[1] === pad(from as Hex).toLowerCase() &&
    BigInt(only.data) === amount
  )
}
