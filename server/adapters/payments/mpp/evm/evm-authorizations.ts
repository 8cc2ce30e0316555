import type { Address, Hex, TransactionReceipt } from 'viem'
import { waitForTransactionReceipt } from 'viem/actions'
import type { ReadCredential, SettleOutcome } from '../../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../../core/payments/refusal'
import { settleByCall, simulatedAmount } from '../chain/contract-calls'
import { movedAmount } from '../chain/moved-amount'
import type { RelayedReceipt } from '../chain/relaying'
import { SentByUs } from '../chain/sent-by-us'
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
