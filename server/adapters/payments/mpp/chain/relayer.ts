import { type Address, type Client, type Hex, keccak256, type TransactionReceipt } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { getTransactionCount, getTransactionReceipt, sendRawTransaction } from 'viem/actions'
import { MINUTE_MS } from '../../../../core/clock'
import { chainReason } from '../refusals'
import type { Fees, GasPrices } from './gas-prices'
import { causesOf, isNodeTrouble, isRevert } from './node-trouble'

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

export interface RelayedCall extends ContractCall {
  readonly gas: bigint
}

export interface RelayerOptions {
  readonly account: PrivateKeyAccount
  readonly chainId: number
  /** Client for reads, which may be batched. */
  readonly reads: Client
  /** Client for sending transactions, never batched. */
  readonly sends: Client
  readonly gas: GasPrices
  /** How long one call waits to be included in a block. */
  readonly waitMs: number
}

/** Pending transactions at once. Nodes guarantee an account 16 slots and keep 64 more if there is room. */
const MAX_IN_FLIGHT = 64
/** A call behind more than this many would not get into a block while its caller waits. */
const MAX_WAITING = 256
const TRIES = 5
const POLL_MS = 200
/** The pending transactions are resent a third of a call's patience after the chain moved last, but within these bounds. */
const MIN_STALL_MS = 2000
const MAX_STALL_MS = 5000
/** Transactions are abandoned after this time. Authorizations expire after ten minutes. */
const GIVE_UP_MS = 15 * MINUTE_MS
/** After this time, transactions of an earlier process are not waited for any more. */
const EARLIER_MS = 30_000
/** A transaction is considered lost after this many checks that find its nonce used but no receipt. */
const CHECKS_BEFORE_LOST = 3

/** A nonce of the account, and the transactions sent with it, newest last. */
interface PendingCall {
  readonly nonce: number
  readonly call: RelayedCall
  readonly sent: { hash: Hex; raw: Hex; fees: Fees }[]
  readonly begunAt: number
  readonly ended: PromiseWithResolvers<TransactionReceipt | null>
  timesMissed: number
  /** Why it is unknown whether the node received it. */
  doubt: unknown
}

/** Gas costs more than the ceiling allows, so nothing is sent now. */
class TooExpensive extends Error {
  constructor() {
    super('gas costs more than the ceiling allows')
  }
}

/**
 * Sends transactions from one account, with gas paid by the gateway: many at once, each with its own nonce, counted here. Pending
 * transactions are watched until they are mined. If the one with the lowest nonce is stuck, it is sent again at a higher price, below
 * the ceiling. A nonce that was reserved but not used is filled with an empty transaction. The account must be the gateway's alone:
 * another sender uses up nonces, which costs a second transaction here. Nothing is stored on disk: a new process asks the node
 * for the next nonce, and first waits until the transactions of the old one are in blocks. Then the contract refuses what one of them
 * submitted, and it is not sent a second time.
 */
export class Relayer {
  private readonly options: RelayerOptions
  private readonly pending = new Map<number, PendingCall>()
  /** Nonces that were reserved but not used. */
  private readonly gaps: number[] = []
  private busy = 0
  private readonly waiting: (() => void)[] = []
  /** The nonce after the last reserved one; null if the node must be asked. */
  private next: number | null = null
  private counting: Promise<void> | null = null
  private polling = false
  /** Resolves to whether the transactions of an earlier process are in blocks, and since when they are waited for. */
  private earlier: Promise<boolean> | null = null
  private earlierSince: number | null = null
  /** The lowest nonce that is not mined, and since when. */
  private line = { first: -1, since: 0, repeatedAt: 0 }

  constructor(options: RelayerOptions) {
    this.options = options
  }

  get address(): Hex {
    return this.options.account.address
  }

  /** Why no call is accepted now, such as gas that costs too much; null when one is. Rejects if the chain's node does not respond. */
  async problem(): Promise<RelayProblem | null> {
    if (this.waiting.length >= MAX_WAITING)
      return { reason: `${this.waiting.length} payments wait for the relayer`, isOurs: true }
    return ofNetwork(await this.options.gas.problem())
  }

  /**
   * Sends the call and waits for its block. Safe to repeat: the same call is sent with one nonce while it is under way, and afterwards the
   * contract refuses it. Rejects if it is not known what happened, or nothing can be sent now. `onSent` is called once a node of the chain may have it.
   */
  async relay({ to, data }: ContractCall, onSent: () => void): Promise<Relayed> {
    if (!(await this.isAfterEarlier())) return { kind: 'late' }
    let limit: bigint
    try {
      const from = this.address
      const estimated = await this.options.reads.request({ method: 'eth_estimateGas', params: [{ from, to, data }] })
      limit = (BigInt(estimated) * 5n) / 4n
    } catch (error) {
      if (!isRevert(error)) throw error
      return { kind: 'reverts', reason: chainReason(error) }
    }
    const receipt = await this.submit({ to, data, gas: limit }, onSent)
    return receipt ? { kind: 'mined', receipt } : { kind: 'late' }
  }

  /** Waits for transactions that an earlier process sent, at most as long as for a block. False if they are not in blocks yet. */
  private async isAfterEarlier(): Promise<boolean> {
    this.earlier ??= this.waitForEarlier()
    const isAfter = await this.earlier.catch((error: unknown) => {
      this.earlier = null
      throw error
    })
    if (!isAfter) this.earlier = null
    return isAfter
  }

  private async waitForEarlier(): Promise<boolean> {
    const begunAt = performance.now()
    this.earlierSince ??= begunAt
    const last = await this.countIn('pending')
    while ((await this.countIn('latest')) < last) {
      const now = performance.now()
      // One that the node holds back for its low price: `keepMoving` replaces it.
      if (now - this.earlierSince > EARLIER_MS) return true
      if (now - begunAt > this.options.waitMs) return false
      await Bun.sleep(POLL_MS)
    }
    return true
  }

  /**
   * Submits the call to the chain and returns its receipt: null if it is not mined in time, in which case it is still watched. The same
   * call is never sent with two nonces. Throws when the node refuses it or does not answer. `onSent` is called once the node may have
   * received it.
   */
  async submit(call: RelayedCall, onSent: () => void = () => undefined): Promise<TransactionReceipt | null> {
    const before = [...this.pending.values()].find(({ call: { data } }) => data === call.data)
    if (before) await this.sendAgain(before)
    const flight = before ?? (await this.sendNext(call))
    onSent()
    if (!before && flight.doubt) throw flight.doubt
    const late = Promise.withResolvers<null>()
    const patience = setTimeout(() => late.resolve(null), this.options.waitMs)
    const receipt = await Promise.race([flight.ended.promise, late.promise])
    clearTimeout(patience)
    return receipt
  }

  private async sendNext(call: RelayedCall): Promise<PendingCall> {
    if (this.busy < MAX_IN_FLIGHT) this.busy++
    else await new Promise<void>((begin) => this.waiting.push(begin))
    // The next waiting call takes over the slot.
    const leave = () => {
      const next = this.waiting.shift()
      if (next) next()
      else this.busy--
    }
    try {
      const flight = await this.begin(call)
      void flight.ended.promise.then(leave)
      return flight
    } catch (error) {
      leave()
      throw error
    }
  }

  private async begin(call: RelayedCall): Promise<PendingCall> {
    for (let tries = 1; ; tries++) {
      const fees = await this.options.gas.fees(call.gas)
      if (!fees) throw new TooExpensive()
      const flight = this.pendingOf(await this.number(), call)
      try {
        await this.send(flight, fees)
        return flight
      } catch (error) {
        // The reply was lost. The node may have the transaction, so keep its nonce reserved and watch it.
        flight.doubt = error
        if (isNodeTrouble(error)) return flight
        this.end(flight, null)
        if (isTaken(error)) await this.count(flight.nonce)
        else this.gaps.push(flight.nonce)
        if (tries === TRIES || !(isTaken(error) || isTooFar(error))) throw error
        if (isTooFar(error)) await Bun.sleep(POLL_MS)
      }
    }
  }

  private pendingOf(nonce: number, call: RelayedCall): PendingCall {
    const ended = Promise.withResolvers<TransactionReceipt | null>()
    const flight = { nonce, call, sent: [], begunAt: performance.now(), ended, timesMissed: 0, doubt: null }
    this.pending.set(nonce, flight)
    if (!this.polling) void this.poll()
    return flight
  }

  private end(flight: PendingCall, receipt: TransactionReceipt | null): void {
    this.pending.delete(flight.nonce)
    flight.ended.resolve(receipt)
  }

  private async send(flight: PendingCall, { isLegacy, ...fees }: Fees): Promise<void> {
    const { account, chainId, sends } = this.options
    const price = isLegacy
      ? ({ type: 'legacy', gasPrice: fees.maxFeePerGas } as const)
      : ({ type: 'eip1559', ...fees } as const)
    const raw = await account.signTransaction({ ...flight.call, ...price, nonce: flight.nonce, chainId })
    flight.sent.push({ hash: keccak256(raw), raw, fees: { ...fees, isLegacy } })
    await sendRawTransaction(sends, { serializedTransaction: raw }).catch((error: unknown) => {
      if (!isKnownAlready(error)) throw error
    })
  }

  /** Sends it again with the same nonce, at a higher price if the ceiling allows: the node may have dropped it or holds it back. */
  private async sendAgain(flight: PendingCall): Promise<void> {
    const last = flight.sent.at(-1)
    const higher = last && (await this.options.gas.feesAbove(last.fees, flight.call.gas))
    // Ignore an error: the node may already have the first transaction.
    if (higher) await this.send(flight, higher).catch(() => undefined)
    else await this.repeat(flight)
  }

  /** Sends the identical transaction again, for a node that has dropped it. */
  private async repeat({ sent }: PendingCall): Promise<void> {
    const last = sent.at(-1)
    if (last) await sendRawTransaction(this.options.sends, { serializedTransaction: last.raw }).catch(() => undefined)
  }

  /** Reserves a nonce: the lowest that was returned, else the next one. */
  private async number(): Promise<number> {
    while (this.next === null) await this.count(-1)
    const gap = this.gaps.sort((a, b) => a - b).shift()
    if (gap !== undefined) return gap
    const number = this.next
    this.next = number + 1
    return number
  }

  /** Asks the node for the account's next nonce. `used`: a nonce that the node reported as used. */
  private async count(used: number): Promise<void> {
    this.counting ??= this.pendingCount().finally(() => {
      this.counting = null
    })
    await this.counting
    this.next = Math.max(this.next ?? 0, used + 1)
  }

  private async pendingCount(): Promise<void> {
    const count = await this.countIn('pending')
    this.next = Math.max(this.next ?? 0, count)
  }

  private countIn(blockTag: 'pending' | 'latest'): Promise<number> {
    return getTransactionCount(this.options.reads, { address: this.address, blockTag })
  }

  /** Watches pending transactions while there are any. */
  private async poll(): Promise<void> {
    this.polling = true
    this.line = { first: -1, since: 0, repeatedAt: 0 }
    for (let pause = POLL_MS; this.pending.size > 0; ) {
      await new Promise((resume) => setTimeout(resume, pause).unref())
      pause = await this.check().then(
        () => POLL_MS,
        () => Math.min(pause * 2, MIN_STALL_MS),
      )
    }
    this.polling = false
  }

  private async check(): Promise<void> {
    const [mined] = await Promise.all([
      this.countIn('latest'),
      ...[...this.pending.values()].map((flight) => this.checkReceipt(flight)),
    ])
    const now = performance.now()
    for (const flight of this.pending.values()) {
      if (flight.nonce < mined) flight.timesMissed++
      if (flight.timesMissed >= CHECKS_BEFORE_LOST || now - flight.begunAt > GIVE_UP_MS) this.end(flight, null)
    }
    await this.keepMoving(mined, now)
  }

  private async checkReceipt(flight: PendingCall): Promise<void> {
    await Promise.all(
      flight.sent.map(async ({ hash }) => {
        const receipt = await getTransactionReceipt(this.options.reads, { hash }).catch((error: unknown) => {
          if (isNodeTrouble(error)) throw error
          return null
        })
        if (receipt) this.end(flight, receipt)
      }),
    )
  }

  /**
   * All transactions wait for the lowest nonce. First all are resent unchanged; if that does not help, the lowest bids more, before callers
   * with the gateway's 10 s give up: a node can hold back a transaction that it says it has.
   */
  private async keepMoving(first: number, now: number): Promise<void> {
    if (first !== this.line.first) this.line = { first, since: now, repeatedAt: now }
    const { since, repeatedAt } = this.line
    const stallMs = Math.min(Math.max(this.options.waitMs / 3, MIN_STALL_MS), MAX_STALL_MS)
    if (this.pending.size === 0 || now - repeatedAt < stallMs) return
    const isStuck = now - since >= 2 * stallMs
    this.line = { first, since: isStuck ? now : since, repeatedAt: now }
    const head = this.pending.get(first)
    const again = (flight: PendingCall) => (flight === head && isStuck ? this.sendAgain(flight) : this.repeat(flight))
    await Promise.all([...this.pending.values()].map(again))
    if (!head && (isStuck || this.gaps.includes(first))) await this.fill(first)
  }

  private async fill(first: number): Promise<void> {
    // An unused nonce, or one of an earlier process whose transaction the node dropped or holds back for its low price.
    const [some] = this.pending.values()
    const fees = some && (await this.options.gas.fees(some.call.gas))
    // A call may have taken it meanwhile. Without a price it stays for one that comes.
    if (!fees || this.pending.has(first)) return
    const gap = this.gaps.indexOf(first)
    if (gap >= 0) this.gaps.splice(gap, 1)
    const filler = this.pendingOf(first, { to: this.address, data: '0x', gas: some.call.gas })
    await this.send(filler, fees).catch(() => undefined)
  }
}

/** The nonce was used by another user of the key or by an earlier process. Nodes report it only as text, without a code. */
function isTaken(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /nonce (is )?too low|underpriced/i.test(message))
}

/** The transaction with the nonce before it has not reached this node yet. */
function isTooFar(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /nonce (is )?too high/i.test(message))
}

function isKnownAlready(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /already (known|imported)|known transaction/i.test(message))
}
