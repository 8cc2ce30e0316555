import { type Chain, type Client, type Hex, keccak256, type TransactionReceipt, type Transport } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import {
  getBalance,
  getTransactionCount,
  getTransactionReceipt,
  prepareTransactionRequest,
  sendRawTransaction,
} from 'viem/actions'
import { causesOf, isNodeTrouble } from './node-trouble'

export type RelayerClient = Client<Transport, Chain, PrivateKeyAccount>

export interface RelayedCall {
  readonly to: Hex
  readonly data: Hex
  readonly gas: bigint
}

/** More than a transfer by authorization takes on any chain that half a cent is sent over. */
const DEAREST_GAS = 300_000n
const TRIES = 3
const ASK_AGAIN_MS = 200

/**
 * Sends transactions of one account, whose gas the gateway pays. One at a time takes the next number of the account, so that
 * no two of them ever have the same one; then they wait for their blocks side by side. The account must be the gateway's alone:
 * who else sends by it takes numbers away, which is found out and mended, at the cost of a second sending.
 */
export class Relayer {
  private readonly client: RelayerClient
  private readonly waitMs: number
  private queue: Promise<unknown> = Promise.resolve()
  /** The number of the next transaction; null when the node must be asked. */
  private next: number | null = null
  /** One of ours did not get into a block in time: the next one takes the place of the first that waits. */
  private stalled = false

  constructor(client: RelayerClient, waitMs: number) {
    this.client = client
    this.waitMs = waitMs
  }

  get address(): Hex {
    return this.client.account.address
  }

  /** Whether it has the gas of one more transaction. Throws when the node does not answer. */
  async canPay(): Promise<boolean> {
    const [balance, fees] = await Promise.all([getBalance(this.client, { address: this.address }), this.fees()])
    return balance >= DEAREST_GAS * (fees.type === 'legacy' ? fees.gasPrice : fees.maxFeePerGas)
  }

  /** Gives the call to the node, and its hash when the node has it. Throws when the node refuses it or does not answer. */
  send(call: RelayedCall): Promise<Hex> {
    const sent = this.queue.then(() => this.sendNow(call))
    this.queue = sent.catch(() => undefined)
    return sent
  }

  /** What became of one, once it is in a block; null when it is not in time. Throws when the node does not answer. */
  async receipt(hash: Hex): Promise<TransactionReceipt | null> {
    const until = performance.now() + this.waitMs
    for (;;) {
      const receipt = await this.mined(hash)
      if (receipt) this.stalled = false
      if (receipt) return receipt
      if (performance.now() > until) break
      await Bun.sleep(ASK_AGAIN_MS)
    }
    // It may have been dropped: its number is asked for again.
    this.next = null
    this.stalled = true
    return null
  }

  private async mined(hash: Hex): Promise<TransactionReceipt | null> {
    try {
      return await getTransactionReceipt(this.client, { hash })
    } catch (error) {
      if (isNodeTrouble(error)) throw error
      return null
    }
  }

  private async sendNow(call: RelayedCall): Promise<Hex> {
    for (let tries = 1; ; tries++) {
      const fees = await this.fees()
      const standsIn = this.stalled
      this.stalled = false
      const nonce = await this.number(standsIn ? 'latest' : 'pending')
      // What stands in for another must pay more than it, or nodes keep the first.
      const paid = standsIn ? twice(fees) : fees
      const transaction = { ...call, ...paid, nonce, chainId: this.client.chain.id }
      const signed = await this.client.account.signTransaction(transaction)
      this.next = null
      try {
        await sendRawTransaction(this.client, { serializedTransaction: signed })
        if (!standsIn) this.next = nonce + 1
        return keccak256(signed)
      } catch (error) {
        if (isKnownAlready(error)) return keccak256(signed)
        if (tries === TRIES || !isOfTheNumber(error)) throw error
      }
    }
  }

  private async number(blockTag: 'latest' | 'pending'): Promise<number> {
    if (this.next !== null && blockTag === 'pending') return this.next
    return getTransactionCount(this.client, { address: this.address, blockTag })
  }

  private async fees(): Promise<Fees> {
    const { maxFeePerGas, maxPriorityFeePerGas, gasPrice } = await prepareTransactionRequest(this.client, {
      account: this.client.account,
      parameters: ['type', 'fees'],
    })
    if (maxFeePerGas === undefined) return { type: 'legacy', gasPrice: gasPrice ?? 0n }
    return { type: 'eip1559', maxFeePerGas, maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n }
  }
}

type Fees =
  | { readonly type: 'legacy'; readonly gasPrice: bigint }
  | { readonly type: 'eip1559'; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

function twice(fees: Fees): Fees {
  if (fees.type === 'legacy') return { ...fees, gasPrice: fees.gasPrice * 2n }
  return {
    ...fees,
    maxFeePerGas: fees.maxFeePerGas * 2n + 1n,
    maxPriorityFeePerGas: fees.maxPriorityFeePerGas * 2n + 1n,
  }
}

/** The account's numbers are not what we thought: somebody else sent by it, or one of ours is gone. Nodes have words for it, and no code. */
function isOfTheNumber(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /nonce (is )?too (low|high)|underpriced/i.test(message))
}

function isKnownAlready(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /already (known|imported)|known transaction/i.test(message))
}
