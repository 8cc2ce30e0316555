import type { Address, Hex } from 'viem'

/** A contract call that settles a payment. */
export interface ContractCall {
  readonly to: Address
  readonly data: Hex
}

/** The part of a transaction's receipt that shows whether it paid. */
export interface RelayedReceipt {
  readonly transactionHash: Hex
  readonly status: 'success' | 'reverted'
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[]
}

/** `late`: it is not in a block yet. `reverts`: the contract refuses it now, and it was not sent. */
export type Relayed =
  | { readonly kind: 'mined'; readonly receipt: RelayedReceipt }
  | { readonly kind: 'late' }
  | { readonly kind: 'reverts'; readonly reason: string }

/** Why nothing can be sent. `isOurs`: the gateway is the cause, not the network or what it costs. */
export interface RelayProblem {
  readonly reason: string
  readonly isOurs: boolean
}

export function ofNetwork(reason: string | null): RelayProblem | null {
  return reason === null ? null : { reason, isOurs: false }
}

/** An account of our own that brings payments to the chain and pays their gas. */
export interface Relaying {
  readonly address: Address
  /** Why no call is accepted now, such as gas that costs too much; null when one is. Rejects if the chain's node does not respond. */
  problem(): Promise<RelayProblem | null>
  /**
   * Sends the call and waits for its block. Safe to repeat: the same call is sent with one nonce while it is under way, and afterwards the
   * contract refuses it. Rejects if it is not known what happened, or nothing can be sent now. `onSent` is called once a node of the chain may have it.
   */
  relay(call: ContractCall, onSent: () => void): Promise<Relayed>
}
