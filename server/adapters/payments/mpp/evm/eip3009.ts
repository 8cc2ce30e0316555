import {
  type Address,
  type Client,
  encodeFunctionData,
  type Hex,
  type LogTopic,
  numberToHex,
  pad,
  parseAbi,
  parseSignature,
  type RpcLog,
  type TransactionReceipt,
  toEventSelector,
} from 'viem'
import { getBlock, getChainId, getTransactionReceipt, readContract } from 'viem/actions'
import { MINUTE_MS } from '../../../../core/clock'
import type { PaymentFate, SettlementHandle } from '../../../../core/payments/method'

/** The functions of EIP-3009 and ERC-20 that are used here. */
export const EIP3009_ABI = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address owner) view returns (uint256)',
  'function decimals() view returns (uint8)',
])

const AUTHORIZATION_USED = toEventSelector('AuthorizationUsed(address,bytes32)')
const AUTHORIZATION_CANCELED = toEventSelector('AuthorizationCanceled(address,bytes32)')
export const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

/** How far a chain may be reorganized before we treat a transfer as failed. */
export const REORG_MS = 30_000
/** A transfer that could still happen in an hour keeps its fate open for an hour. */
export const MAX_LIFE_MS = 10 * MINUTE_MS
/** Nodes refuse log queries over too many blocks. */
const BLOCKS_PER_QUESTION = 1000n

/** A transfer signed by its payer that anybody may submit to the chain, once. Addresses and nonce are lower case. */
export interface Authorization {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: string
  readonly signature: Hex
}

/** The payload of x402 version 2 with this authorization. */
export function payloadOf({ from, to, nonce, value, validAfter, validBefore, signature }: Authorization) {
  const authorization = {
    from,
    to,
    nonce,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
  }
  return { signature, authorization }
}

/** The authorization in a payload; null when it has another form. */
export function authorizationIn(payload: unknown): Authorization | null {
  const member = (name: string, form: RegExp) => {
    const value: unknown = Reflect.get(Object(payload), name)
    return typeof value === 'string' && form.test(value) ? value.toLowerCase() : null
  }
  const [from, to] = [member('from', ADDRESS), member('to', ADDRESS)]
  const [value, after, before] = [member('value', UINT), member('validAfter', UINT), member('validBefore', UINT)]
  const [nonce, signature] = [member('nonce', /^0x[0-9a-f]{64}$/i), member('signature', /^0x[0-9a-f]{130}$/i)]
  if (!from || !to || !value || !after || !before || !nonce || !signature) return null
  return {
    from,
    to,
    nonce,
    signature: signature as Hex, // its format was checked above
    value: BigInt(value),
    validAfter: BigInt(after),
    validBefore: BigInt(before),
  }
}

const ADDRESS = /^0x[0-9a-f]{40}$/i
/** Fits in a uint256. */
const UINT = /^\d{1,77}$/

/** The contract call that executes the transfer. */
export function transferCall({ from, to, value, validAfter, validBefore, nonce, signature }: Authorization): Hex {
  const { r, s, yParity } = parseSignature(signature)
  return encodeFunctionData({
    abi: EIP3009_ABI,
    functionName: 'transferWithAuthorization',
    // Their format was checked when they were read.
    args: [from as Address, to as Address, value, validAfter, validBefore, nonce as Hex, 27 + yParity, r, s],
  })
}

/** An authorization with its token and chain: all that a lookup needs, even if the configuration has changed. */
export interface Named {
  readonly chainId: number
  readonly token: string
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly nonce: string
}

export function namedOn(chainId: number, token: string, authorization: Authorization): Named {
  return { ...authorization, chainId, token: token.toLowerCase() }
}

/** Marks what a facilitator was asked to send. Its transactions have any sender, also after the configuration has changed. */
const BY_FACILITATOR = '/facilitator'

/** Encodes it as text, for `SettlementHandle.transaction`. */
export function authorizationName({ chainId, token, from, to, value, nonce }: Named, isFacilitated = false): string {
  const name = [`eip155:${chainId}`, token, from, to, value, nonce].join('/')
  return isFacilitated ? name + BY_FACILITATOR : name
}

/** Whether a facilitator was asked to send what is named. */
export function isFacilitated(name: string): boolean {
  return name.endsWith(BY_FACILITATOR)
}

function namedBy(text: string): Named | null {
  const [, chainId, token, from, to, value, nonce] =
    /^eip155:(\d+)\/(0x\w{40})\/(0x\w{40})\/(0x\w{40})\/(\d+)\/(0x\w{64})(?:\/facilitator)?$/.exec(text) ?? []
  if (!chainId || !token || !from || !to || !value || !nonce) return null
  return { chainId: Number(chainId), token, from, to, value: BigInt(value), nonce }
}

export interface AuthorizationFate {
  readonly fate: PaymentFate
  /** The nonce is used, by this or another transaction. With an open fate: in a pending block, or the node does not show by which one. */
  readonly used: boolean
}

export interface FateOptions {
  /** Whether a transaction that moved the money counts, depending on its sender. */
  readonly counts: (transaction: TransactionReceipt) => boolean
  /** Confirmations (the payment's own block included) that make a payment final. */
  readonly confirmations: number
}

/**
 * The outcome of an authorization, found by its nonce: `settled` only if its amount was transferred from the payer to us. A payer can
 * use the nonce for another transfer or cancel it, and anyone can submit our authorization before us: `counts` decides whether that
 * is a payment. Throws when the node does not answer.
 */
export async function authorizationFate(
  client: Client,
  handle: SettlementHandle,
  options: FateOptions,
): Promise<AuthorizationFate> {
  const named = namedBy(handle.transaction)
  if (!named || named.chainId !== client.chain?.id) return UNSEEN
  const [chainId, latest] = await Promise.all([getChainId(client), getBlock(client, { blockTag: 'latest' })])
  // A node that switched to another chain knows nothing about ours.
  if (chainId !== named.chainId) return UNSEEN
  const state = {
    address: named.token as Address,
    abi: EIP3009_ABI,
    functionName: 'authorizationState',
    args: [named.from as Address, named.nonce as Hex],
  } as const
  const [used, usedNext] = await Promise.all([
    readContract(client, { ...state, blockNumber: latest.number }),
    // It may be pending. Not every node can report that.
    readContract(client, { ...state, blockTag: 'pending' }).catch(() => false),
  ])
  if (used) return { fate: await usedFor(client, named, handle, latest, options), used }
  // Its validBefore is over by the chain's own time.
  const isOver = handle.validBefore !== null && Number(latest.timestamp) * 1000 > handle.validBefore + REORG_MS
  return isOver ? { fate: { kind: 'never' }, used } : { fate: { kind: 'open' }, used: usedNext }
}

const UNSEEN: AuthorizationFate = { fate: { kind: 'open' }, used: false }

async function usedFor(
  client: Client,
  named: Named,
  handle: SettlementHandle,
  latest: BlockHead,
  { counts, confirmations }: FateOptions,
): Promise<PaymentFate> {
  const topics = [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], pad(named.from as Hex), named.nonce as Hex]
  for await (const [log] of logsOf(client, handle, latest, { address: named.token as Address, topics })) {
    if (!log?.transactionHash) continue
    if (log.topics[0] === AUTHORIZATION_CANCELED) return { kind: 'never' }
    const receipt = await getTransactionReceipt(client, { hash: log.transactionHash })
    if (!hasMoved(receipt.logs, named) || !(handle.reference || counts(receipt))) return { kind: 'never' }
    const standsIn = latest.number - receipt.blockNumber + 1n
    return { kind: 'settled', reference: log.transactionHash, isFinal: standsIn >= BigInt(confirmations) }
  }
  return { kind: 'open' }
}

/** The logs of a contract since the handle's payment could first be used, by blocks, oldest first. */
export async function* logsOf(
  client: Client,
  { validBefore }: SettlementHandle,
  latest: BlockHead,
  filter: { readonly address: Address; readonly topics: LogTopic[] },
): AsyncGenerator<readonly RpcLog[]> {
  const earliest = ((validBefore ?? 0) - MAX_LIFE_MS - REORG_MS) / 1000
  let from = await blockBefore(client, earliest, latest)
  for (; from <= latest.number; from += BLOCKS_PER_QUESTION) {
    const to = from + BLOCKS_PER_QUESTION - 1n
    const blocks = { fromBlock: numberToHex(from), toBlock: numberToHex(to < latest.number ? to : latest.number) }
    yield await client.request({ method: 'eth_getLogs', params: [{ ...filter, ...blocks }] })
  }
}

export interface BlockHead {
  readonly number: bigint
  readonly timestamp: bigint
}

/** A block at or before the time (s), found in increasing steps. */
export async function blockBefore(client: Client, moment: number, latest: BlockHead): Promise<bigint> {
  for (let step = 64n; step < latest.number; step *= 2n) {
    const { number, timestamp } = await getBlock(client, { blockNumber: latest.number - step })
    if (Number(timestamp) < moment) return number
  }
  return 0n
}

interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

/**
 * Whether a mined transaction moved the whole amount of this authorization to us, exactly once. If it contains no other
 * authorization, as the ones that we send, all transfers count, in whatever order the token logs them. If it contains others, each
 * transfer belongs to the authorization right before it, as EIP-3009 defines.
 */
export function hasMoved(logs: readonly Log[], { token, from, to, value, nonce }: Named): boolean {
  const ours = logs.filter(({ address }) => address.toLowerCase() === token)
  const used = ours.filter(({ topics }) => topics[0] === AUTHORIZATION_USED)
  const mine = used.filter(({ topics }) => topics[1] === pad(from as Hex) && topics[2] === nonce)
  const [own] = mine
  if (!own || mine.length > 1) return false
  const isWhole = ({ topics, data }: Log) =>
    topics[0] === TRANSFER && topics[1] === pad(from as Hex) && topics[2] === pad(to as Hex) && BigInt(data) === value
  if (used.length > 1) {
    const next = ours[ours.indexOf(own) + 1]
    return next !== undefined && isWhole(next)
  }
  const touching = ours.filter(({ topics }) => topics[0] === TRANSFER && topics.slice(1, 3).includes(pad(to as Hex)))
  const [only] = touching
  return only !== undefined && touching.length === 1 && isWhole(only)
}
