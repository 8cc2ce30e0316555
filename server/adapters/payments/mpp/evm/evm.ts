import type { Money } from '../../../../core/money'
import { PAYMENT_YIELD } from '../../../../core/payments/event-loop-yield'
import type { PaymentMethod } from '../../../../core/payments/method'
import type { PaymentRefusal } from '../../../../core/payments/refusal'
import { err, ok } from '../../../../core/result'
import { networkInV1 } from '../../../../core/x402-networks'
import { receivedTransfers } from '../chain/received'
import { chainReason, paymentRefusal } from '../refusals'
import { type Authorization, authorizationName, MAX_LIFE_MS, namedOn } from './eip3009'
import { authorizations } from './evm-authorizations'
import { type EvmCredential, isOfX402, readEvmCredential } from './evm-credential'
import { type EvmNetwork, type EvmOptions, evmNetwork } from './evm-network'
import { evmWire } from './evm-wire'

/**
 * The `evm` method, and x402's `exact` scheme (versions 1 and 2) for the same offer: the caller signs an authorization of a transfer (EIP-3009), and our
 * relayer submits it once the answer has arrived. An authorization that is never submitted expires at its `validBefore`. The chain
 * accepts each (payer, nonce) once, so sending again is safe. The claim has the same key, so an authorization buys one thing, in
 * any format.
 */
export function evmMethod(options: EvmOptions, shared: EvmNetwork = evmNetwork(options)): PaymentMethod {
  const { chainId, decimals, minAmount } = options
  const { token, balance, fuel } = shared
  const network = authorizations(options, shared)
  const { watch } = network
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
      const handle = {
        transaction: authorizationName(named, shared.facilitated !== null),
        validBefore: Number(authorization.validBefore) * 1000,
      }
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
        await PAYMENT_YIELD.next()
        await wire.verify(credential as EvmCredential, terms)
      } catch (error) {
        return err(paymentRefusal(error))
      }
      const refusal = await network.refusal(credential as EvmCredential, units(terms.amount))
      return refusal ? err(refusal) : ok({ payer: authorization.from })
    },
    settle: (read) =>
      network.settle(read).catch((error) => {
        // Check the chain before the next offer, whatever the problem was.
        void watch.checkAgain()
        return { kind: 'unknown', reason: chainReason(error), isOurs: true }
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
    received: receivedTransfers(shared.reads, options),
    balance,
    fuel,
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
