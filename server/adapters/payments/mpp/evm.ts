import { type Address, createClient, getAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { call, readContract } from 'viem/actions'
import type { PaymentMethod, ReadCredential, SettleOutcome } from '../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../core/payments/refusal'
import { no, ok } from '../../../core/result'
import {
  type Authorization,
  EIP3009_ABI,
  fateOf,
  hasMoved,
  LONGEST_LIFE_MS,
  namedOn,
  nameOf,
  transferCall,
} from './eip3009'
import { type ChainOptions, chainOf, transportOf } from './evm-chain'
import { type EvmCredential, isOfX402, readEvmCredential } from './evm-credential'
import { evmWire, type WireOptions } from './evm-wire'
import { isRevert } from './node-trouble'
import { reasonOf, refusalOf } from './refusals'
import { Relayer, type RelayerClient } from './relayer'

export interface EvmOptions extends ChainOptions, WireOptions {
  /** Brings the transfers to the chain, and pays their gas. */
  readonly relayerKey: string
  readonly now: () => number
  readonly onTrouble: (what: string, reason: string) => void
  /** How long one try waits for a block. */
  readonly blockWaitMs?: number
}

/** Two of them, and the questions between, fit into what a try has left for settling. */
const BLOCK_WAIT_MS = 10_000

/**
 * The `evm` method, and x402's `exact` scheme for the same offer: the caller signs an authorization of a transfer (EIP-3009), and
 * our relayer brings it to the chain when the answer is there. One that is never brought dies by itself at its `validBefore`. The
 * chain takes each (payer, nonce) once, whoever brings it and however often, so sending again is safe; the claim is on the same pair,
 * so an authorization buys one thing, in whichever of the two forms it comes.
 */
export function evmMethod(options: EvmOptions): PaymentMethod {
  const { chainId, decimals } = options
  const token = getAddress(options.token)
  const account = privateKeyToAccount(options.relayerKey as Address) // the configuration judged its form
  const client: RelayerClient = createClient({ account, chain: chainOf(options), transport: transportOf(options) })
  const relayer = new Relayer(client, options.blockWaitMs ?? BLOCK_WAIT_MS)
  const wire = evmWire(options)
  return {
    name: 'evm',
    currency: token,
    alsoBy: 'x402 (version 2) takes the same offer: PAYMENT-REQUIRED, PAYMENT-SIGNATURE, PAYMENT-RESPONSE',
    units: (amount) => BigInt(amount) * 10n ** BigInt(decimals - 6),
    offer: (terms) => wire.offer(terms),
    async read(shown) {
      const read = readEvmCredential(shown, wire.charge)
      if (!read?.ok) return read
      const { authorization, hash, binding } = read.value
      const named = namedOn(chainId, token, authorization)
      const handle = { transaction: nameOf(named), validBefore: Number(authorization.validBefore) * 1000 }
      const claimKey = `evm:${chainId}:${named.token}:${named.from}:${named.nonce}`
      // Without a word of what it was made for, it is bound by what it is first shown with.
      const bound = binding ?? (isOfX402(read.value) ? { own: '1', rid: authorization.nonce } : null)
      return ok({ claimKey, hash, binding: bound, handle, credential: read.value })
    },
    async validate({ credential }, terms) {
      const { form, authorization } = credential as EvmCredential // what `read` made
      const life = lifeProblem(form, authorization, options.now())
      if (life) return no(life)
      try {
        await wire.judge(credential as EvmCredential, terms)
      } catch (error) {
        return no(refusalOf(error))
      }
      try {
        const data = transferCall(authorization)
        // What the library does not look at: whether the chain would take it, and whether we could bring it there.
        const would = call(client, { account: relayer.address, to: token, data })
        const [isSolvent] = await Promise.all([relayer.canPay(), would])
        if (isSolvent) return ok({ payer: authorization.from })
        options.onTrouble('payments by evm: the relayer has no money for gas', relayer.address)
        return no(NETWORK)
      } catch (error) {
        // What is not the contract's own verdict is the node's trouble.
        return no(isRevert(error) ? refusalOf(error) : NETWORK)
      }
    },
    settle: (read) =>
      bring(client, relayer, token, read).catch((error) => ({ kind: 'unknown', reason: reasonOf(error) })),
    lookUp: (handle) =>
      fateOf(client, handle).then(
        ({ fate }) => fate,
        () => ({ kind: 'open' }),
      ),
    receiptHeaders({ credential }, { reference }) {
      const { form, authorization } = credential as EvmCredential // what `read` made
      if (form !== 'x402') return {}
      const told = { success: true, transaction: reference, network: `eip155:${chainId}`, payer: authorization.from }
      return { 'payment-response': Buffer.from(JSON.stringify(told)).toString('base64') }
    },
    async balance(payer) {
      const args = [payer as Address] as const
      return readContract(client, { address: token, abi: EIP3009_ABI, functionName: 'balanceOf', args }).catch(
        () => null,
      )
    },
  }
}

/** Of x402 the end of the authorization is the end of the offer: it echoes no other. */
function lifeProblem(form: EvmCredential['form'], { validBefore }: Authorization, now: number): PaymentRefusal | null {
  const end = Number(validBefore) * 1000
  if (form === 'x402' && end <= now)
    return { code: 'payment_expired', reason: 'The authorization is not valid any more.' }
  return end > now + LONGEST_LIFE_MS
    ? { code: 'verification_failed', reason: 'The authorization must not be valid for more than ten minutes.' }
    : null
}

/** Brings an authorization to the chain, and waits for its block. Throws when the node does not answer. */
async function bring(
  client: RelayerClient,
  relayer: Relayer,
  token: Address,
  read: ReadCredential,
): Promise<SettleOutcome> {
  const { authorization } = read.credential as EvmCredential // what `read` made
  const data = transferCall(authorization)
  let gas: bigint
  try {
    const from = relayer.address
    const estimated = await client.request({ method: 'eth_estimateGas', params: [{ from, to: token, data }] })
    gas = (BigInt(estimated) * 5n) / 4n
  } catch (error) {
    // The contract refuses it now: because it was taken before, or because it never will be.
    if (isRevert(error)) return spentOr(client, read, reasonOf(error))
    throw error
  }
  const reference = await relayer.send({ to: token, data, gas })
  const receipt = await relayer.receipt(reference)
  if (!receipt) return { kind: 'unknown', reason: `${reference} is in no block yet` }
  if (receipt.status === 'success' && hasMoved(receipt.logs, namedOn(client.chain.id, token, authorization)))
    return { kind: 'settled', reference }
  return spentOr(client, read, `${reference} moved nothing`)
}

/** The chain did not take it from us: somebody else may have brought it before. */
async function spentOr(client: RelayerClient, read: ReadCredential, reason: string): Promise<SettleOutcome> {
  const { fate, used } = await fateOf(client, read.handle)
  if (fate.kind === 'settled') return fate
  if (fate.kind === 'open' && used) return { kind: 'unknown', reason }
  return { kind: 'refused', reason }
}
