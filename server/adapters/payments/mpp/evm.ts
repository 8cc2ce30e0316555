import type { Address, TransactionReceipt } from 'viem'
import type { Money } from '../../../core/money'
import type { PaymentMethod, ReadCredential, SettleOutcome } from '../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../core/payments/refusal'
import { err, ok } from '../../../core/result'
import { networkInV1 } from '../../../core/x402-networks'
import { type Authorization, fateOf, hasMoved, MAX_LIFE_MS, namedOn, nameOf, transferCall } from './eip3009'
import { type EvmCredential, isOfX402, readEvmCredential } from './evm-credential'
import { type EvmNetwork, type EvmNetworkOptions, evmNetwork } from './evm-network'
import { evmWire, type WireOptions } from './evm-wire'
import { movedAmount } from './moved-amount'
import { isRevert } from './node-trouble'
import { reasonOf, refusalOf } from './refusals'
import { SentByUs } from './sent-by-us'

export interface EvmOptions extends EvmNetworkOptions, WireOptions {
  /** The smallest price offered this way: below it, gas could cost more than the payment. */
  readonly minAmount: Money
  /** Confirmations (the payment's own block included) that make a payment final. */
  readonly confirmations: number
}

/**
 * The `evm` method, and x402's `exact` scheme (versions 1 and 2) for the same offer: the caller signs an authorization of a transfer (EIP-3009), and our
 * relayer submits it once the answer has arrived. An authorization that is never submitted expires at its `validBefore`. The chain
 * accepts each (payer, nonce) once, so sending again is safe. The claim has the same key, so an authorization buys one thing, in
 * any format.
 */
export function evmMethod(options: EvmOptions, shared: EvmNetwork = evmNetwork(options)): PaymentMethod {
  const { chainId, decimals, minAmount } = options
  const { token, watch, balance, fuel } = shared
  const network = authorizations(options, shared)
  const wire = evmWire(options)
  const units = (amount: Money) => BigInt(amount) * 10n ** BigInt(decimals - 6)
  return {
    name: 'evm',
    currency: token,
    alsoBy:
      'x402 takes the same offer: PAYMENT-REQUIRED, PAYMENT-SIGNATURE, PAYMENT-RESPONSE; version 1 in the body, X-PAYMENT, X-PAYMENT-RESPONSE',
    minAmount,
    units,
    offer: async (terms) => (terms.amount >= minAmount && (await watch.isWell()) ? wire.offer(terms) : null),
    async read(shown) {
      const read = readEvmCredential(shown, wire.charge)
      if (!read?.ok) return read
      const { authorization, hash, binding } = read.value
      const named = namedOn(chainId, token, authorization)
      const handle = { transaction: nameOf(named), validBefore: Number(authorization.validBefore) * 1000 }
      const claimKey = `evm:${chainId}:${named.token}:${named.from}:${named.nonce}`
      // A payment without a binding is bound to the first request that presents it.
      const bound = binding ?? (isOfX402(read.value) ? { own: '1', rid: authorization.nonce } : null)
      return ok({ claimKey, hash, binding: bound, handle, credential: read.value })
    },
    async validate({ credential }, terms) {
      const { form, authorization } = credential as EvmCredential // created by `read`
      const life = lifeProblem(form, authorization, options.now())
      if (life) return err(life)
      if (terms.amount < minAmount) return err(TOO_LITTLE)
      try {
        await wire.verify(credential as EvmCredential, terms)
      } catch (error) {
        return err(refusalOf(error))
      }
      const refusal = await network.refusal(authorization, units(terms.amount))
      return refusal ? err(refusal) : ok({ payer: authorization.from })
    },
    settle: (read) =>
      network.settle(read).catch((error) => {
        // Check the chain before the next offer, whatever the problem was.
        void watch.checkAgain()
        return { kind: 'unknown', reason: reasonOf(error), isOurs: true }
      }),
    lookUp: (handle) =>
      network.fateOf(handle).then(
        ({ fate }) => fate,
        () => ({ kind: 'open' }),
      ),
    receiptHeaders({ credential }, { reference }) {
      const { form, authorization } = credential as EvmCredential // created by `read`
      if (form === 'payment') return {}
      const settled = { success: true, transaction: reference, payer: authorization.from }
      const header = (network: string | null) => Buffer.from(JSON.stringify({ ...settled, network })).toString('base64')
      return form === 'x402'
        ? { 'payment-response': header(`eip155:${chainId}`) }
        : { 'x-payment-response': header(networkInV1(chainId)) }
    },
    balance,
    fuel,
  }
}

/** Looks up authorizations on the chain and sends them. */
function authorizations(options: EvmOptions, { token, reads, relayer, watch }: EvmNetwork) {
  const { chainId, recipient, confirmations, onTrouble } = options
  const sentByUs = new SentByUs(relayer.address)
  const fate = (handle: ReadCredential['handle']) =>
    fateOf(reads, handle, { confirmations, counts: (transaction) => sentByUs.counts(handle.transaction, transaction) })

  /** The chain refused it from us: someone else may have submitted it first. */
  const spentOrRefused = async ({ handle }: ReadCredential, reason: string): Promise<SettleOutcome> => {
    const { fate: outcome, used } = await fate(handle)
    if (outcome.kind === 'settled') return outcome
    if (outcome.kind === 'open' && used) return { kind: 'unknown', reason }
    if (used)
      onTrouble('an authorization was already used and does not count as a payment', `${handle.transaction}: ${reason}`)
    return { kind: 'refused', reason }
  }

  return {
    fateOf: fate,

    /** What would prevent a transfer now, and whether the payer or the gateway is the cause. */
    async refusal(authorization: Authorization, whole: bigint): Promise<PaymentRefusal | null> {
      try {
        const [problem, moved] = await Promise.all([
          watch.problem(),
          movedAmount(reads, token, recipient as Address, transferCall(authorization)).catch(async (error: unknown) => {
            // A token that refuses every transfer is not the payer's fault.
            if (!isRevert(error) || (await watch.checkAgain()) !== null) return null
            throw error
          }),
        ])
        if (problem !== null || moved === null) return NETWORK
        if (moved === whole) return null
        onTrouble('evm payments are refused: the token does not transfer the requested amount', `${moved} of ${whole}`)
        return NETWORK
      } catch (error) {
        return refusalOf(error)
      }
    },

    /** Sends an authorization to the chain and waits for its block. Rejects when the node does not respond. */
    async settle(read: ReadCredential): Promise<SettleOutcome> {
      const { authorization } = read.credential as EvmCredential // created by `read`
      const data = transferCall(authorization)
      let limit: bigint
      try {
        const from = relayer.address
        const estimated = await reads.request({ method: 'eth_estimateGas', params: [{ from, to: token, data }] })
        limit = (BigInt(estimated) * 5n) / 4n
      } catch (error) {
        if (!isRevert(error)) throw error
        // The contract refuses it: because of its own state, because the nonce was used before, or permanently.
        const problem = await watch.checkAgain()
        return problem === null
          ? spentOrRefused(read, reasonOf(error))
          : { kind: 'unknown', reason: problem, isOurs: true }
      }
      const receipt = await relayer.submit({ to: token, data, gas: limit }, () => sentByUs.add(read))
      if (!receipt) return { kind: 'unknown', reason: 'the transfer is not in a block yet', isOurs: true }
      return verdict(receipt, read, authorization)
    },
  }

  async function verdict(
    { status, logs, transactionHash }: TransactionReceipt,
    read: ReadCredential,
    authorization: Authorization,
  ): Promise<SettleOutcome> {
    if (status === 'success' && hasMoved(logs, namedOn(chainId, token, authorization)))
      return { kind: 'settled', reference: transactionHash }
    return spentOrRefused(read, `${transactionHash} did not move the whole amount`)
  }
}

/** For x402, the offer expires with the authorization, because x402 echoes no other expiry. */
function lifeProblem(form: EvmCredential['form'], { validBefore }: Authorization, now: number): PaymentRefusal | null {
  const end = Number(validBefore) * 1000
  if (form !== 'payment' && end <= now) return { code: 'payment_expired', reason: 'The authorization has expired.' }
  return end > now + MAX_LIFE_MS
    ? { code: 'verification_failed', reason: 'The authorization must not be valid for more than ten minutes.' }
    : null
}

const TOO_LITTLE: PaymentRefusal = {
  code: 'verification_failed',
  reason: 'The amount is below the minimum of this payment method.',
}
