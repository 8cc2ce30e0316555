import type { Address, Client, Hex, TransactionReceipt } from 'viem'
import type { SettleOutcome } from '../../../../core/payments/method'
import { reasonOf } from '../refusals'
import type { ChainWatch } from './chain-watch'
import { isRevert } from './node-trouble'
import type { Relayer } from './relayer'

/** A contract call that settles a payment. */
interface ContractCall {
  readonly to: Address
  readonly data: Hex
}

/** What a settlement depends on besides its call. */
interface Settlement {
  isPaidBy(receipt: TransactionReceipt): boolean
  /** The outcome of a call that the chain refused from us: someone else may have submitted it first. */
  spentOrRefused(reason: string): Promise<SettleOutcome>
  onSent?(): void
}

/** Sends a call from the relayer and waits for its block. Rejects when the node does not respond. */
export async function settleByCall(
  reads: Client,
  { relayer, watch }: { readonly relayer: Relayer; readonly watch: ChainWatch },
  { to, data }: ContractCall,
  settlement: Settlement,
): Promise<SettleOutcome> {
  let limit: bigint
  try {
    const from = relayer.address
    const estimated = await reads.request({ method: 'eth_estimateGas', params: [{ from, to, data }] })
    limit = (BigInt(estimated) * 5n) / 4n
  } catch (error) {
    if (!isRevert(error)) throw error
    // The contract refuses it: because of its own state, because the nonce was used before, or permanently.
    const problem = await watch.checkAgain()
    return problem === null
      ? settlement.spentOrRefused(reasonOf(error))
      : { kind: 'unknown', reason: problem, isOurs: true }
  }
  const receipt = await relayer.submit({ to, data, gas: limit }, () => settlement.onSent?.())
  if (!receipt) return { kind: 'unknown', reason: 'the transfer is not in a block yet', isOurs: true }
  if (settlement.isPaidBy(receipt)) return { kind: 'settled', reference: receipt.transactionHash }
  return settlement.spentOrRefused(`${receipt.transactionHash} did not move the whole amount`)
}

/**
 * The amount that a simulated call moves to the recipient; null if the chain or its token is the cause that it moves none. Rejects if
 * the payer is the cause, or the node does not respond.
 */
export async function simulatedAmount(watch: ChainWatch, simulate: () => Promise<bigint>): Promise<bigint | null> {
  const [problem, moved] = await Promise.all([
    watch.problem(),
    simulate().catch(async (error: unknown) => {
      // A token that refuses every transfer is not the payer's fault.
      if (!isRevert(error) || (await watch.checkAgain()) !== null) return null
      throw error
    }),
  ])
  return problem === null ? moved : null
}
