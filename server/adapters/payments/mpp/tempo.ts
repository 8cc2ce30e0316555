import { Mppx, tempo } from 'mppx/server'
import { type Address, type Client, createClient, type Hex, keccak256 } from 'viem'
import { getTransaction, getTransactionReceipt, readContract, sendRawTransactionSync } from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Abis, Transaction } from 'viem/tempo'
import { formatUsd } from '../../../core/money'
import type {
  Fate,
  Offer,
  PaymentMethod,
  ReadCredential,
  SettlementHandle,
  SettleOutcome,
  Terms,
  ValidPayment,
} from '../../../core/payments/method'
import type { PaymentRefusal } from '../../../core/payments/refusal'
import { no, ok, type Result } from '../../../core/result'
import { ChallengeWriter } from './challenge-writer'
import { readPaymentScheme } from './credential-text'
import { type ChainOptions, transportOf } from './evm-chain'
import { isNodeTrouble } from './node-trouble'
import { reasonOf, refusalOf } from './refusals'

export interface TempoOptions extends ChainOptions {
  /** The token's contract. */
  readonly token: string
  readonly decimals: number
  readonly recipient: string
  /** Signs the challenges; at least 32 bytes. */
  readonly secret: string
  /** The public host that challenges name. */
  readonly realm: string
  readonly now: () => number
  /** Readies a chain that does not run by itself; before it is asked anything. */
  readonly freshen?: () => Promise<void>
}

/** How far a chain's clock may be behind ours before we call a transfer dead. */
const CLOCK_SKEW_MS = 30_000
/** A transfer that could still happen in an hour keeps its fate open for an hour. */
const LONGEST_LIFE_MS = 10 * 60_000

/**
 * The `tempo` method, pull mode only: the caller hands over a signed transfer, and we send it when the answer is there. A
 * transfer that is never sent dies by itself at its `validBefore` (facts/payments 1).
 */
export function tempoMethod(options: TempoOptions): PaymentMethod {
  const client = tempoClient(options)
  const charge = tempo.charge({
    currency: options.token as Address, // the configuration judged its form
    recipient: options.recipient as Address,
    decimals: options.decimals,
    supportedModes: ['pull'],
    getClient: () => client,
  })
  const signing = { secretKey: options.secret, realm: options.realm, methods: [charge] as const }
  const mppx = Mppx.create(signing)
  // Its challenges ask for the credential in `Payment-Authorization`; either instance judges what comes.
  const besideKey = Mppx.create({ ...signing, requiresAuth: true })
  const writer = new ChallengeWriter(options.secret, ({ amount, description, binding, besideKey: beside }) => {
    const asked = { amount: formatUsd(amount), description, meta: { ...binding }, chainId: options.chainId }
    return (beside ? besideKey : mppx).challenge.tempo.charge(asked)
  })
  return {
    name: 'tempo',
    currency: options.token,
    units: (amount) => BigInt(amount) * 10n ** BigInt(options.decimals - 6),
    async offer(terms: Terms): Promise<Offer> {
      await options.freshen?.()
      return { method: 'tempo', ...(await writer.write(terms)), more: {} }
    },
    async read(shown) {
      const read = readPaymentScheme(shown, 'tempo')
      if (!read?.ok) return read
      const { credential, hash, binding } = read.value
      const handle = await handleOf(credential.payload)
      return ok({ claimKey: credential.challenge.id, hash, binding, handle, credential })
    },
    async validate(read, { amount, binding }): Promise<Result<ValidPayment, PaymentRefusal>> {
      try {
        await options.freshen?.()
        const request = { amount: formatUsd(amount), chainId: options.chainId }
        const credential = read.credential as Parameters<typeof mppx.validateCredential>[0] // what `read` made
        const { details } = await mppx.validateCredential(credential, { meta: { ...binding }, request })
        const life = lifeProblem(read.handle, options.now())
        if (life) return no({ code: 'verification_failed', reason: life })
        // Recovered from the signature; `source` is only what the credential claims.
        return ok({ payer: String(Reflect.get(details ?? {}, 'sender')).toLowerCase() })
      } catch (error) {
        return no(refusalOf(error))
      }
    },
    settle: (read) => send(client, read),
    lookUp: (handle) => lookUp(client, handle, options.now()),
    async balance(payer) {
      try {
        const [address, args] = [options.token as Address, [payer as Address] as const]
        return await readContract(client, { address, abi: Abis.tip20, functionName: 'balanceOf', args })
      } catch {
        return null
      }
    },
  }
}

function tempoClient(options: TempoOptions): Client {
  const { rpcUrl, chainId } = options
  const chain = { ...tempoLocalnet, id: chainId, rpcUrls: { default: { http: [rpcUrl] } } }
  return createClient({ chain, transport: transportOf(options) })
}

/** The transfer as the chain will know it: nodes hash the one normal form of it. */
async function signedTransfer(payload: unknown): Promise<{ raw: Hex; hash: Hex; validBefore: number | null } | null> {
  const signature: unknown = Reflect.get(Object(payload), 'signature')
  if (typeof signature !== 'string' || !/^0x7[68][0-9a-f]+$/i.test(signature)) return null
  try {
    const transaction = Transaction.deserialize(signature as Transaction.TransactionSerializedTempo) // its prefix says so
    const raw = await Transaction.serialize(transaction)
    const seconds = transaction.validBefore
    return { raw, hash: keccak256(raw), validBefore: seconds ? Number(seconds) * 1000 : null }
  } catch {
    return null
  }
}

async function handleOf(payload: unknown): Promise<SettlementHandle> {
  const transfer = await signedTransfer(payload)
  return { transaction: transfer?.hash ?? 'none', validBefore: transfer?.validBefore ?? null }
}

function lifeProblem({ validBefore }: SettlementHandle, now: number): string | null {
  if (validBefore === null) return 'The transfer must have a validBefore, or its fate would stay open for ever.'
  if (validBefore > now + LONGEST_LIFE_MS) return 'The transfer must not be valid for more than ten minutes.'
  if (validBefore <= now) return 'The transfer is not valid any more.'
  return null
}

async function send(client: Client, read: ReadCredential): Promise<SettleOutcome> {
  const transfer = await signedTransfer(Reflect.get(Object(read.credential), 'payload'))
  if (!transfer) return { kind: 'refused', reason: 'not a signed transfer' }
  try {
    const receipt = await sendRawTransactionSync(client, { serializedTransaction: transfer.raw })
    if (receipt.status === 'success') return { kind: 'settled', reference: transfer.hash }
    return { kind: 'refused', reason: 'the transfer reverted' }
  } catch (error) {
    const reason = reasonOf(error)
    if (isNodeTrouble(error)) return { kind: 'unknown', reason }
    // The node answered with an error; that need not mean that it will not mine it, so it is asked whether it knows it.
    try {
      await getTransaction(client, { hash: transfer.hash })
      return { kind: 'unknown', reason }
    } catch (unknown) {
      return isNodeTrouble(unknown) ? { kind: 'unknown', reason } : { kind: 'refused', reason }
    }
  }
}

async function lookUp(client: Client, handle: SettlementHandle, now: number): Promise<Fate> {
  try {
    const receipt = await getTransactionReceipt(client, { hash: handle.transaction as Hex })
    return receipt.status === 'success' ? { kind: 'settled', reference: handle.transaction } : { kind: 'never' }
  } catch (error) {
    if (isNodeTrouble(error)) return { kind: 'open' }
    // Not mined. It names its own last second, so that it never will be when that is over.
    const isOver = handle.validBefore !== null && now > handle.validBefore + CLOCK_SKEW_MS
    return isOver ? { kind: 'never' } : { kind: 'open' }
  }
}
