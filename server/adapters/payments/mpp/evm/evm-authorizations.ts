import {
  type Address,
  type Client,
  decodeFunctionResult,
  encodeDeployData,
  type Hex,
  parseAbi,
  type TransactionReceipt,
} from 'viem'
import { call, waitForTransactionReceipt } from 'viem/actions'
import type { ReadCredential, SettleOutcome } from '../../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../../core/payments/refusal'
import { settleByCall, simulatedAmount } from '../chain/contract-calls'
import type { RelayedReceipt } from '../chain/relayer'
import { paymentRefusal } from '../refusals'
import { authorizationFate, hasMoved, isFacilitated, namedOn, transferCall } from './eip3009'
import type { EvmCredential } from './evm-credential'
import type { EvmNetwork, EvmOptions } from './evm-network'
import { type Facilitator, facilitatorRequest } from './facilitator'

/** Two settlements, with what the chain is asked between them, fit into the time that an attempt has for settling. */
const FACILITATED_WAIT_MS = 4_000

/** Looks up authorizations on the chain and has them sent: by the facilitator if there is one, else by our relayer. */
export function authorizations(options: EvmOptions, network: EvmNetwork) {
  const { chainId, recipient, confirmations, onTrouble } = options
  const { token, reads, relayed, facilitated } = network
  const watch = (facilitated ?? relayed)?.watch
  if (!watch) throw new Error('payments by evm need a relayer or a facilitator')
  const sentByUs = relayed && new SentByUs(relayed.relayer.address)
  // The chain does not show who asked a facilitator for a transfer: its recipient must belong to this gateway alone.
  const counts = (name: string, transaction: TransactionReceipt) =>
    isFacilitated(name) || (sentByUs?.counts(name, transaction) ?? true)
  const fate = (handle: ReadCredential['handle']) =>
    authorizationFate(reads, handle, {
      confirmations,
      counts: (transaction) => counts(handle.transaction, transaction),
    })

  /** The chain refused it from us: someone else may have submitted it first. */
  const spentOrRefused = async ({ handle }: ReadCredential, reason: string): Promise<SettleOutcome> => {
    const { fate: outcome, used } = await fate(handle)
    if (outcome.kind === 'settled') return outcome
    if (outcome.kind === 'open' && used) return { kind: 'unknown', reason }
    if (used)
      onTrouble('an authorization was already used and does not count as a payment', `${handle.transaction}: ${reason}`)
    return { kind: 'refused', reason }
  }
  const isPaidBy = ({ status, logs }: RelayedReceipt, { credential }: ReadCredential) =>
    status === 'success' && hasMoved(logs, namedOn(chainId, token, (credential as EvmCredential).authorization)) // created by `read`
  const parts = { options, network, spentOrRefused, isPaidBy }

  return {
    watch,
    fateOf: fate,

    /** The obstacle to a transfer now, and whether the payer or the gateway is the cause. */
    async refusal(shown: EvmCredential, whole: bigint): Promise<PaymentRefusal | null> {
      const data = transferCall(shown.authorization)
      try {
        const moved = await simulatedAmount(watch, () => movedAmount(reads, token, recipient as Address, data))
        if (moved === null) return watch.refusal()
        if (moved === whole) return facilitated ? facilitatorRefusal(options, facilitated.facilitator, shown) : null
        onTrouble('evm payments are refused: the token does not transfer the requested amount', `${moved} of ${whole}`)
        return NETWORK
      } catch (error) {
        return paymentRefusal(error)
      }
    },

    /** Has an authorization sent to the chain and waits for its block. Rejects when the node does not respond. */
    settle(read: ReadCredential): Promise<SettleOutcome> {
      if (facilitated) return settleByFacilitator(parts, facilitated.facilitator, read)
      return settleByRelayer(parts, read, () => sentByUs?.add(read))
    },
  }
}

/** The dependencies of both ways to settle. */
interface SettleParts {
  readonly options: EvmOptions
  readonly network: EvmNetwork
  spentOrRefused(read: ReadCredential, reason: string): Promise<SettleOutcome>
  isPaidBy(receipt: RelayedReceipt, read: ReadCredential): boolean
}

async function settleByRelayer(
  { network: { relayed, token }, spentOrRefused, isPaidBy }: SettleParts,
  read: ReadCredential,
  onSent: () => void,
): Promise<SettleOutcome> {
  const { authorization } = read.credential as EvmCredential // created by `read`
  if (!relayed) throw new Error('there is no relayer')
  const call = { to: token, data: transferCall(authorization) }
  return settleByCall(relayed, call, {
    isPaidBy: (receipt) => isPaidBy(receipt, read),
    spentOrRefused: (reason) => spentOrRefused(read, reason),
    onSent,
  })
}

/** Why a facilitator would not settle what we have found valid. */
async function facilitatorRefusal(
  options: EvmOptions,
  facilitator: Facilitator,
  shown: EvmCredential,
): Promise<PaymentRefusal | null> {
  const verified = await facilitator.verify(facilitatorRequest(options, shown))
  if (verified.kind === 'valid') return null
  if (verified.kind === 'invalid')
    return { code: 'verification_failed', reason: `The facilitator refuses the payment: ${verified.reason}.` }
  options.onTrouble('payments are refused: the facilitator does not verify them', verified.reason)
  return NETWORK
}

/** A facilitator is believed only as far as the chain confirms it. */
async function settleByFacilitator(
  { options, network: { reads }, spentOrRefused, isPaidBy }: SettleParts,
  facilitator: Facilitator,
  read: ReadCredential,
): Promise<SettleOutcome> {
  const answer = await facilitator.settle(facilitatorRequest(options, read.credential as EvmCredential)) // created by `read`
  if (answer.kind === 'refused') return spentOrRefused(read, `the facilitator refuses: ${answer.reason}`)
  if (answer.kind === 'unknown') return { ...answer, isOurs: true }
  const hash = answer.transaction as Hex // its form was checked
  const wait = { hash, timeout: options.blockWaitMs ?? FACILITATED_WAIT_MS, pollingInterval: 200 }
  const receipt = await waitForTransactionReceipt(reads, wait).catch(() => null)
  if (receipt && isPaidBy(receipt, read)) return { kind: 'settled', reference: hash }
  const reason = `the facilitator reports ${hash}, which ${receipt ? 'does not pay' : 'the chain does not have'}`
  const outcome = await spentOrRefused(read, reason)
  if (outcome.kind === 'settled') return outcome
  options.onTrouble('the facilitator reports a payment that the chain does not confirm', reason)
  // It may still send what it was given.
  return { kind: 'unknown', reason, isOurs: true }
}

/** `moved-amount.sol` in this folder: solc 0.8.30, evmVersion paris, optimizer 200 runs, metadata.appendCBOR false. */
const CODE =
  '0x608060405234801561001057600080fd5b506040516102ec3803806102ec83398101604081905261002f916101e0565b6040516370a0823160e01b81526001600160a01b038381166004830152600091908516906370a0823190602401602060405180830381865afa158015610079573d6000803e3d6000fd5b505050506040513d601f19601f8201168201806040525081019061009d91906102b6565b9050600080856001600160a01b0316846040516100ba91906102cf565b6000604051808303816000865af19150503d80600081146100f7576040519150601f19603f3d011682016040523d82523d6000602084013e6100fc565b606091505b50915091508161010e57805160208201fd5b6040516370a0823160e01b81526001600160a01b038681166004830152600091908816906370a0823190602401602060405180830381865afa158015610158573d6000803e3d6000fd5b505050506040513d601f19601f8201168201806040525081019061017c91906102b6565b905083810360005260206000f35b80516001600160a01b03811681146101a157600080fd5b919050565b634e487b7160e01b600052604160045260246000fd5b60005b838110156101d75781810151838201526020016101bf565b50506000910152565b6000806000606084860312156101f557600080fd5b6101fe8461018a565b925061020c6020850161018a565b60408501519092506001600160401b0381111561022857600080fd5b8401601f8101861361023957600080fd5b80516001600160401b03811115610252576102526101a6565b604051601f8201601f19908116603f011681016001600160401b0381118282101715610280576102806101a6565b60405281815282820160200188101561029857600080fd5b6102a98260208301602086016101bc565b8093505050509250925092565b6000602082840312156102c857600080fd5b5051919050565b600082516102e18184602087016101bc565b919091019291505056fe'
const ABI = parseAbi([
  'constructor(address token, address recipient, bytes transfer)',
  'function moved() view returns (uint256)',
])

/**
 * The amount by which a call of the token would increase the recipient's balance in the chain's current state, regardless of the
 * events that the token logs. Nothing is deployed. Rejects with the token's own reason if the token refuses the call.
 */
async function movedAmount(client: Client, token: Address, recipient: Address, transfer: Hex): Promise<bigint> {
  const data = encodeDeployData({ abi: ABI, bytecode: CODE, args: [token, recipient, transfer] })
  const { data: grown } = await call(client, { data })
  return decodeFunctionResult({ abi: ABI, functionName: 'moved', data: grown ?? '0x' })
}

/** More than there can be during the lifetime of an authorization. */
const MAX_KNOWN = 100_000

/**
 * Which transfers to the recipient are payments to this gateway. Another gateway with the same recipient accepts the same
 * authorization, so a transfer alone does not show what it pays for. It counts if our relayer sent it. A transfer that someone else
 * submitted counts only if we had sent it too and its payer signed it for one of our own offers. That excludes top-ups, and x402
 * payments whose echo of the offer is not signed.
 */
class SentByUs {
  private readonly relayer: string
  private readonly sent = new Set<string>()

  constructor(relayer: string) {
    this.relayer = relayer.toLowerCase()
  }

  /** Records that its transfer was sent to the node. */
  add({ handle, credential }: ReadCredential): void {
    const { binding, isSignedFor } = credential as EvmCredential // created by `read`
    if (!binding || !isSignedFor || binding['account'] !== undefined) return
    if (this.sent.size >= MAX_KNOWN) this.sent.clear()
    this.sent.add(handle.transaction)
  }

  /** Whether a mined transaction that moved the money is this gateway's. */
  counts(name: string, { from }: TransactionReceipt): boolean {
    return from.toLowerCase() === this.relayer || this.sent.has(name)
  }
}
