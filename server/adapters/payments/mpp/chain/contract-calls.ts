import type { SettleOutcome } from '../../../../core/payments/method'
import type { ChainWatch } from './chain-watch'
import { isRevert } from './node-trouble'
import type { ContractCall, RelayedReceipt, Relayer } from './relayer'

/** The conditions of a settlement besides its call. */
interface Settlement {
  isPaidBy(receipt: RelayedReceipt): boolean
  /** The outcome of a call that the chain refused from us: someone else may have submitted it first. */
  spentOrRefused(reason: string): Promise<SettleOutcome>
  onSent?(): void
}

/** Sends a call from the relayer and waits for its block. Rejects when the node does not respond. */
export async function settleByCall(
  { relayer, watch }: { readonly relayer: Relayer; readonly watch: ChainWatch },
  call: ContractCall,
  settlement: Settlement,
): Promise<SettleOutcome> {
  const relayed = await relayer.relay(call, () => settlement.onSent?.())
  if (relayed.kind === 'reverts') {
    // The contract refuses it: because of its own state, because the nonce was used before, or permanently.
    const problem = await watch.checkAgain()
    return problem === null
      ? settlement.spentOrRefused(relayed.reason)
      : { kind: 'unknown', reason: problem, isOurs: true }
  }
  if (relayed.kind === 'late') return { kind: 'unknown', reason: 'the transfer is not in a block yet', isOurs: true }
  const { receipt } = relayed
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
