import type { Credential } from 'mppx'
import { Mppx, tempo } from 'mppx/server'
import {
  type Address,
  type Client,
  concat,
  createClient,
  erc20Abi,
  fromRlp,
  type Hex,
  isAddressEqual,
  keccak256,
  parseEventLogs,
  slice,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  toRlp,
} from 'viem'
import {
  getBlock,
  getChainId,
  getTransaction,
  getTransactionReceipt,
  readContract,
  sendRawTransactionSync,
} from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Abis, Transaction } from 'viem/tempo'
import { jsonText } from '../../../core/json'
import { formatUsd } from '../../../core/money'
import { PAYMENT_YIELD } from '../../../core/payments/event-loop-yield'
import type {
  Offer,
  PaymentFate,
  PaymentMethod,
  ReadCredential,
  SettlementHandle,
  SettleOutcome,
  Terms,
  ValidPayment,
} from '../../../core/payments/method'
import { NETWORK, type PaymentRefusal } from '../../../core/payments/refusal'
import { err, ok, type Result } from '../../../core/result'
import { ChainWatch } from './chain/chain-watch'
import { isNodeTrouble } from './chain/node-trouble'
import { receivedTransfers } from './chain/received'
import { ChallengeWriter } from './challenge-writer'
import { readPaymentCredential } from './credential-text'
import { type BlockHead, blockBefore, MAX_LIFE_MS, REORG_MS } from './evm/eip3009'
import { type ChainOptions, transportOf } from './evm/evm-chain'
import { chainReason, paymentRefusal } from './refusals'

export interface TempoOptions extends ChainOptions {
  /** The token's contract. */
  readonly token: string
  readonly decimals: number
  readonly recipient: string
  /** Signs the challenges; at least 32 bytes. */
  readonly secret: string
  /** The public host name in challenges. */
  readonly realm: string
  /** Confirmations (the payment's own block included) that make a payment final. */
  readonly confirmations: number
  /** The maximum age of the last block; null for a chain that makes blocks only for transactions. */
  readonly maxBlockAgeMs: number | null
  readonly now: () => number
  readonly onTrouble: (what: string, reason: string) => void
  /** How long a challenge can be paid; five minutes if absent. */
  readonly challengeLifeMs?: number
  /** Prepares a chain that does not make blocks by itself; runs before any request to it. */
  readonly freshen?: () => Promise<void>
}

/** Empty blocks are rare on this chain. */
const MAX_EMPTY_BLOCKS = 100n

/**
 * The `tempo` method, pull mode only: the caller provides a signed transfer, and the gateway sends it once the answer has arrived. A
 * transfer that is never sent expires at its `validBefore`.
 */
export function tempoMethod(options: TempoOptions): PaymentMethod {
  const client = tempoClient(options)
  const watch = new ChainWatch(client, options)
  const charge = tempo.charge({
    currency: options.token as Address, // the configuration validated its form
    recipient: options.recipient as Address,
    decimals: options.decimals,
    supportedModes: ['pull'],
    getClient: () => client,
  })
  const signing = { secretKey: options.secret, realm: options.realm, methods: [charge] as const }
  const mppx = Mppx.create(signing)
  // Its challenges ask for the credential in `Payment-Authorization`. Both instances verify either header.
  const besideKey = Mppx.create({ ...signing, requiresAuth: true })
  const writer = new ChallengeWriter(
    options.secret,
    ({ amount, description, binding, besideKey: beside }) => {
      const terms = { amount: formatUsd(amount), description, meta: { ...binding }, chainId: options.chainId }
      return (beside ? besideKey : mppx).challenge.tempo.charge(terms)
    },
    options.challengeLifeMs,
  )
  return {
    name: 'tempo',
    currency: options.token,
    units: (amount) => BigInt(amount) * 10n ** BigInt(options.decimals - 6),
    async offer(terms: Terms): Promise<Offer | null> {
      if (!(await watch.isWell())) return null
      await options.freshen?.()
      return { method: 'tempo', ...(await writer.write(terms)), more: {} }
    },
    async read(shown) {
      const read = readPaymentCredential(shown, 'tempo')
      if (!read?.ok) return read
      const { credential, hash, binding } = read.value
      const transfer = await signedTransfer(credential.payload)
      const handle = { transaction: transfer?.hash ?? 'none', validBefore: transfer?.validBefore ?? null }
      const own: TempoCredential = { credential, transfer }
      return ok({ claimKey: credential.challenge.id, hash, binding, handle, credential: own })
    },
    async validate(read, { amount, binding }): Promise<Result<ValidPayment, PaymentRefusal>> {
      try {
        if ((await watch.problem()) !== null) return err(NETWORK)
        await options.freshen?.()
        const request = { amount: formatUsd(amount), chainId: options.chainId }
        const credential = shownBy(read) as Parameters<typeof mppx.validateCredential>[0]
        await PAYMENT_YIELD.next()
        const { details } = await mppx.validateCredential(credential, { meta: { ...binding }, request })
        const life = lifeProblem(read.handle, options.now())
        if (life) return err({ code: 'verification_failed', reason: life })
        // Recovered from the signature; `source` is only the credential's claim.
        return ok({ payer: jsonText(Reflect.get(details ?? {}, 'sender')).toLowerCase() })
      } catch (error) {
        // A token that refuses every transfer is not the payer's fault.
        return err((await watch.checkAgain()) === null ? paymentRefusal(error) : NETWORK)
      }
    },
    async settle(read) {
      const outcome = await send(client, read, options)
      if (outcome.kind === 'settled') return outcome
      // On a healthy chain the payer may be the cause: another transfer may have used its nonce.
      if (outcome.kind === 'unknown') return { ...outcome, isOurs: !(await watch.isWell(true)) }
      const problem = await watch.checkAgain()
      return problem === null ? outcome : { kind: 'unknown', reason: problem, isOurs: true }
    },
    received: receivedTransfers(client, options),
    lookUp: (handle) => lookUp(client, handle, options).catch(() => ({ kind: 'open' })),
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

interface SignedTransfer {
  readonly raw: Hex
  readonly hash: Hex
  readonly validBefore: number | null
}

/** What `read` makes of a credential. */
interface TempoCredential {
  readonly credential: Credential.Credential
  /** Null if it contains none. */
  readonly transfer: SignedTransfer | null
}

function shownBy({ credential }: ReadCredential): Credential.Credential {
  return (credential as TempoCredential).credential
}

/** The transfer in the canonical form that nodes hash. */
async function signedTransfer(payload: unknown): Promise<SignedTransfer | null> {
  const serialized: unknown = Reflect.get(Object(payload), 'signature')
  if (typeof serialized !== 'string' || !/^0x7[68][0-9a-f]+$/i.test(serialized)) return null
  try {
    const { unsigned, signature } = parted(serialized as Hex) // its form was checked
    // The library takes the signature in this form as well.
    const raw = await Transaction.serialize({
      ...unsigned,
      signature,
    } as unknown as Transaction.TransactionSerializableTempo)
    const seconds = unsigned.validBefore
    return { raw, hash: keccak256(raw), validBefore: seconds ? Number(seconds) * 1000 : null }
  } catch {
    return null
  }
}

/** A transfer and its signature. With it, the library would recover the sender, which takes milliseconds and is not needed here. */
function parted(serialized: Hex): { unsigned: Transaction.TransactionSerializableTempo; signature: Hex } {
  const fields = fromRlp(slice(serialized, 1), 'hex')
  const signature = typeof fields === 'string' ? undefined : fields.at(-1)
  if (typeof fields === 'string' || fields.length <= UNSIGNED_FIELDS || typeof signature !== 'string')
    throw new Error('it is not signed')
  const unsigned = concat([slice(serialized, 0, 1), toRlp(fields.slice(0, -1))])
  return { unsigned: Transaction.deserialize(unsigned as Transaction.TransactionSerializedTempo), signature } // its prefix was checked
}

/** A transfer without a signature has so many fields, or one more, which is a list. */
const UNSIGNED_FIELDS = 13

function lifeProblem({ validBefore }: SettlementHandle, now: number): string | null {
  if (validBefore === null) return 'The transfer must have a validBefore, or its outcome could stay unknown forever.'
  if (validBefore > now + MAX_LIFE_MS) return 'The transfer must not be valid for more than ten minutes.'
  if (validBefore <= now) return 'The transfer has expired.'
  return null
}

async function send(client: Client, read: ReadCredential, options: TempoOptions): Promise<SettleOutcome> {
  const { transfer } = read.credential as TempoCredential // created by `read`
  if (!transfer) return { kind: 'refused', reason: 'not a signed transfer' }
  try {
    const receipt = await sendRawTransactionSync(client, { serializedTransaction: transfer.raw })
    if (receipt.status !== 'success') return { kind: 'refused', reason: 'the transfer reverted' }
    if (isWhole(receipt.logs, read, options)) return { kind: 'settled', reference: transfer.hash }
    options.onTrouble('a transfer did not move the requested amount, and is not counted', transfer.hash)
    return { kind: 'refused', reason: 'the transfer did not move the whole amount' }
  } catch (error) {
    const reason = chainReason(error)
    if (isNodeTrouble(error)) return { kind: 'unknown', reason }
    // The node answered with an error but may still mine the transfer, so ask whether it knows it.
    const known = await getTransaction(client, { hash: transfer.hash })
      .catch(nullIfUnknown)
      .catch(() => 'no answer')
    return { kind: known === null ? 'refused' : 'unknown', reason }
  }
}

/** Whether the node says that it does not know a transaction. Other errors (rate limit, indexing in progress) prove nothing. */
function nullIfUnknown(error: unknown): null {
  if (error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError) return null
  throw error
}

/** Whether the recipient received the challenge's whole amount in a single transfer of the token. */
function isWhole(logs: TransactionReceipt['logs'], read: ReadCredential, options: TempoOptions): boolean {
  const { amount } = shownBy(read).challenge.request
  const ours = logs.filter(({ address }) => isAddressEqual(address, options.token as Address))
  const transfers = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: ours })
  const received = transfers.filter(({ args }) => isAddressEqual(args.to, options.recipient as Address))
  return received.length === 1 && String(received[0]?.args.value) === amount
}

/** Rejects when the node does not respond. */
async function lookUp(client: Client, handle: SettlementHandle, options: TempoOptions): Promise<PaymentFate> {
  await options.freshen?.()
  const hash = handle.transaction as Hex
  const [chainId, latest] = await Promise.all([getChainId(client), getBlock(client, { blockTag: 'latest' })])
  // A node that switched to another chain knows nothing about ours.
  if (chainId !== options.chainId) return { kind: 'open' }
  const receipt = await getTransactionReceipt(client, { hash }).catch(nullIfUnknown)
  if (receipt) {
    if (receipt.status !== 'success') return { kind: 'never' }
    const standsIn = latest.number - receipt.blockNumber + 1n
    return { kind: 'settled', reference: hash, isFinal: standsIn >= BigInt(options.confirmations) }
  }
  // Not mined. It can no longer settle once the chain's time, not our clock, is past its validBefore.
  const isOver = handle.validBefore !== null && Number(latest.timestamp) * 1000 > handle.validBefore + REORG_MS
  if (!isOver) return { kind: 'open' }
  // A payment that was seen before is reverted only if the node still has receipts of that time: many nodes prune them.
  const since = ((handle.validBefore ?? 0) - MAX_LIFE_MS - REORG_MS) / 1000
  return { kind: handle.reference && !(await remembers(client, since, latest)) ? 'open' : 'never' }
}

/** Whether the node still has receipts from before this time (s), checked by requesting the first one. */
async function remembers(client: Client, moment: number, latest: BlockHead): Promise<boolean> {
  const first = await blockBefore(client, moment, latest)
  for (let number = first; number <= latest.number && number < first + MAX_EMPTY_BLOCKS; number++) {
    const { transactions } = await getBlock(client, { blockNumber: number })
    const [hash] = transactions
    if (hash) return (await getTransactionReceipt(client, { hash }).catch(nullIfUnknown)) !== null
  }
  return false
}
