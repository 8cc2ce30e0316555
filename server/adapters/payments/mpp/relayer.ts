import { type Client, type Hex, keccak256, type TransactionReceipt } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { getTransactionCount, getTransactionReceipt, sendRawTransaction } from 'viem/actions'
import type { Fees, GasPrices } from './gas-prices'
import { causesOf, isNodeTrouble } from './node-trouble'

export interface RelayedCall {
  readonly to: Hex
  readonly data: Hex
  readonly gas: bigint
}

export interface RelayerOptions {
  readonly account: PrivateKeyAccount
  readonly chainId: number
  /** For questions, which may wait for each other. */
  readonly reads: Client
  /** For sendings, each by itself. */
  readonly sends: Client
  readonly gas: GasPrices
  /** How long one call waits to be included in a block. */
  readonly waitMs: number
}

/** Under way at once. Nodes promise a place to 16 of an account and keep 64 more, where there is room. */
const MAX_IN_FLIGHT = 64
/** Who waits behind more than these does not get into a block while its caller waits. */
const MAX_WAITING = 256
const TRIES = 5
const POLL_MS = 200
/** The first in line is not looked after more often than this. */
const MIN_STALL_MS = 2000
/** Nothing that we send is worth anything after this: an authorization lives ten minutes. */
const GIVE_UP_MS = 15 * 60_000
/** After so many looks that find its number taken and itself nowhere, a transaction is gone. */
const LOOKS_BEFORE_GONE = 3

/** One number of the account, and what was sent by it: the newest last. */
interface Flight {
  readonly nonce: number
  readonly call: RelayedCall
  readonly sent: { hash: Hex; raw: Hex; fees: Fees }[]
  readonly begunAt: number
  readonly ended: PromiseWithResolvers<TransactionReceipt | null>
  timesMissed: number
  /** Why it is not known whether the node has it. */
  doubt: unknown
}

/** Gas costs more than the ceiling allows, so nothing is sent now. */
class TooDear extends Error {
  constructor() {
    super('gas costs more than the ceiling allows')
  }
}

/**
 * Sends transactions of one account, whose gas the gateway pays: many at once, each by a number of its own, counted here. One by one they
 * are looked after until they are in a block: the first in line, when it gets into none, is sent again at a higher price, below the ceiling;
 * a number that was given out and not used is filled. The account must be the gateway's alone: who else sends by it takes numbers away,
 * which is found out and mended, at the cost of a second sending. Nothing is kept on the disk: a new process asks the node for its number,
 * and what the old one had under way is found by the authorization that it brought.
 */
export class Relayer {
  private readonly options: RelayerOptions
  private readonly flights = new Map<number, Flight>()
  /** Given out, and not used. */
  private readonly gaps: number[] = []
  private busy = 0
  private readonly waiting: (() => void)[] = []
  /** The number after the last that was given out; null when the node must be asked. */
  private next: number | null = null
  private counting: Promise<void> | null = null
  private polling = false
  /** The first number that is in no block, and since when it is. */
  private line = { first: -1, since: 0, repeatedAt: 0 }

  constructor(options: RelayerOptions) {
    this.options = options
  }

  get address(): Hex {
    return this.options.account.address
  }

  /** Why no call is accepted now; null when one is. */
  problem(): string | null {
    return this.waiting.length < MAX_WAITING ? null : `${this.waiting.length} payments wait for the relayer`
  }

  /**
   * Brings the call to the chain, and gives what became of it: null when it is in no block in time, and then it is still looked after. The
   * same call again is not sent by another number. Throws when the node refuses it or does not answer. `taken`: told when it may have come
   * to the node.
   */
  async bring(call: RelayedCall, taken: () => void = () => undefined): Promise<TransactionReceipt | null> {
    const before = [...this.flights.values()].find(({ call: { data } }) => data === call.data)
    if (before) await this.sendAgain(before)
    const flight = before ?? (await this.inTurn(call))
    taken()
    if (!before && flight.doubt) throw flight.doubt
    const late = Promise.withResolvers<null>()
    const patience = setTimeout(() => late.resolve(null), this.options.waitMs)
    const receipt = await Promise.race([flight.ended.promise, late.promise])
    clearTimeout(patience)
    return receipt
  }

  private async inTurn(call: RelayedCall): Promise<Flight> {
    if (this.busy < MAX_IN_FLIGHT) this.busy++
    else await new Promise<void>((begin) => this.waiting.push(begin))
    // Whoever waits takes the place over.
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

  private async begin(call: RelayedCall): Promise<Flight> {
    for (let tries = 1; ; tries++) {
      const fees = await this.options.gas.fees(call.gas)
      if (!fees) throw new TooDear()
      const flight = this.flightOf(await this.number(), call)
      try {
        await this.send(flight, fees)
        return flight
      } catch (error) {
        // A lost reply: it may be with the node, so that its number is taken, and it is looked after.
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

  private flightOf(nonce: number, call: RelayedCall): Flight {
    const ended = Promise.withResolvers<TransactionReceipt | null>()
    const flight = { nonce, call, sent: [], begunAt: performance.now(), ended, timesMissed: 0, doubt: null }
    this.flights.set(nonce, flight)
    if (!this.polling) void this.poll()
    return flight
  }

  private end(flight: Flight, receipt: TransactionReceipt | null): void {
    this.flights.delete(flight.nonce)
    flight.ended.resolve(receipt)
  }

  private async send(flight: Flight, { isLegacy, ...fees }: Fees): Promise<void> {
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

  /** In its own place, at a higher price where the ceiling allows it: a node may have dropped it, or keeps it for cheaper blocks. */
  private async sendAgain(flight: Flight): Promise<void> {
    const last = flight.sent.at(-1)
    const higher = last && (await this.options.gas.feesAbove(last.fees, flight.call.gas))
    // Whatever the node says of it, the first may have come to it already.
    if (higher) await this.send(flight, higher).catch(() => undefined)
    else await this.repeat(flight)
  }

  /** Sends the identical transaction again, for a node that has dropped it. */
  private async repeat({ sent }: Flight): Promise<void> {
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

  /** Asks the node how far the account is. `taken`: a number that somebody else has, as it said. */
  private async count(taken: number): Promise<void> {
    this.counting ??= this.pendingCount().finally(() => {
      this.counting = null
    })
    await this.counting
    this.next = Math.max(this.next ?? 0, taken + 1)
  }

  private async pendingCount(): Promise<void> {
    const count = await getTransactionCount(this.options.reads, { address: this.address, blockTag: 'pending' })
    this.next = Math.max(this.next ?? 0, count)
  }

  /** Watches pending transactions while there are any. */
  private async poll(): Promise<void> {
    this.polling = true
    this.line = { first: -1, since: 0, repeatedAt: 0 }
    for (let pause = POLL_MS; this.flights.size > 0; ) {
      await new Promise((resume) => setTimeout(resume, pause).unref())
      pause = await this.look().then(
        () => POLL_MS,
        () => Math.min(pause * 2, MIN_STALL_MS),
      )
    }
    this.polling = false
  }

  private async look(): Promise<void> {
    const { reads } = this.options
    const [mined] = await Promise.all([
      getTransactionCount(reads, { address: this.address, blockTag: 'latest' }),
      ...[...this.flights.values()].map((flight) => this.lookFor(flight)),
    ])
    const now = performance.now()
    for (const flight of this.flights.values()) {
      if (flight.nonce < mined) flight.timesMissed++
      if (flight.timesMissed >= LOOKS_BEFORE_GONE || now - flight.begunAt > GIVE_UP_MS) this.end(flight, null)
    }
    await this.keepMoving(mined, now)
  }

  private async lookFor(flight: Flight): Promise<void> {
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

  /** All wait behind the first in line: soon they are given to the node again, and when that does not help the first bids more. */
  private async keepMoving(first: number, now: number): Promise<void> {
    if (first !== this.line.first) this.line = { first, since: now, repeatedAt: now }
    const { since, repeatedAt } = this.line
    const { waitMs } = this.options
    if (this.flights.size === 0 || now - repeatedAt < Math.max(waitMs / 3, MIN_STALL_MS)) return
    const isStuck = now - since >= Math.max(waitMs, MIN_STALL_MS)
    this.line = { first, since: isStuck ? now : since, repeatedAt: now }
    const head = this.flights.get(first)
    const again = (flight: Flight) => (flight === head && isStuck ? this.sendAgain(flight) : this.repeat(flight))
    await Promise.all([...this.flights.values()].map(again))
    if (!head && (isStuck || this.gaps.includes(first))) await this.fill(first)
  }

  private async fill(first: number): Promise<void> {
    // A number that was not used, or one of an earlier process that the node has dropped, or keeps at too low a price.
    const gap = this.gaps.indexOf(first)
    if (gap >= 0) this.gaps.splice(gap, 1)
    const [some] = this.flights.values()
    if (!some) return
    const fees = await this.options.gas.fees(some.call.gas)
    const filler = this.flightOf(first, { to: this.address, data: '0x', gas: some.call.gas })
    if (fees) await this.send(filler, fees).catch(() => undefined)
    else this.end(filler, null)
  }
}

/** The number is somebody else's: of another user of the key, or of a transaction of an earlier process. Nodes have words for it, and no code. */
function isTaken(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /nonce (is )?too low|underpriced/i.test(message))
}

/** The one before it has not come to this node yet. */
function isTooFar(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /nonce (is )?too high/i.test(message))
}

function isKnownAlready(error: unknown): boolean {
  return causesOf(error).some(({ message }) => /already (known|imported)|known transaction/i.test(message))
}
