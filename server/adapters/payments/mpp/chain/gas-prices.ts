import type { Address, Client } from 'viem'
import { getBalance, getBlock, getGasPrice } from 'viem/actions'

/** The ceiling on a payment's gas, in the chain's native currency. */
export interface GasCeiling {
  /** The maximum price of one unit of gas in wei; null if only the cost of a whole payment is limited. */
  readonly maxFeePerGas: bigint | null
  /** The maximum cost of one payment in wei: gas limit times price. */
  readonly maxCostPerPayment: bigint
}

export interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** The chain's blocks have no base fee (before EIP-1559). `maxFeePerGas` is then the gas price. */
  readonly isLegacy: boolean
}

interface Prices {
  readonly isLegacy: boolean
  /** The last block's base fee. */
  readonly base: bigint
  readonly tip: bigint
  readonly balance: bigint
  readonly readAt: number
}

/** How long a price is reused. The base fee changes by at most an eighth per block. */
const FRESH_MS = 1000
/** Used until the first transfer of this token is estimated. USDC needs 86,000, and limits are a quarter higher. */
const FIRST_GAS = 110_000n

/** Tracks the gas price, and whether a transfer at this price stays below the ceiling. */
export class GasPrices {
  private readonly client: Client
  private readonly relayer: Address
  private readonly ceiling: GasCeiling
  private readonly now: () => number
  private prices: Prices | null = null
  private lastBalance: bigint | null = null
  private asking: Promise<Prices> | null = null
  /** The latest estimated gas limit of a transfer. */
  private usualGas = FIRST_GAS

  constructor(client: Client, relayer: Address, ceiling: GasCeiling, now: () => number) {
    this.client = client
    this.relayer = relayer
    this.ceiling = ceiling
    this.now = now
  }

  /** The relayer's balance in whole coins, when it was last read; null before. */
  get fuel(): number | null {
    return this.lastBalance === null ? null : Number(this.lastBalance) / 1e18
  }

  /** Why no transfer can be sent now; null when one can. Rejects when the node does not respond. */
  async problem(): Promise<string | null> {
    const problem = this.problemOf(await this.read())
    // A problem is checked again each time, so that recovery is noticed at once.
    if (problem !== null) this.prices = null
    return problem
  }

  private problemOf(prices: Prices): string | null {
    const { base, tip, balance } = prices
    const ceiling = this.ceilingFor(this.usualGas)
    if (base + tip > ceiling)
      return `gas is too expensive: ${gwei(base + tip)} gwei, and the ceiling is ${gwei(ceiling)} (PAYMENTS_MAX_GAS_USD, PAYMENTS_EVM_MAX_FEE_GWEI)`
    if (balance < this.usualGas * withRoom(prices, ceiling))
      return `the relayer cannot pay for gas: ${this.relayer} has ${gwei(balance)} gwei`
    return null
  }

  /** The fees for a transaction with this gas limit; null while blocks charge more than the ceiling. */
  async fees(gas: bigint): Promise<Fees | null> {
    this.usualGas = gas
    const prices = await this.read()
    const { base, tip, isLegacy } = prices
    const ceiling = this.ceilingFor(gas)
    if (base + tip > ceiling) return null
    return { maxFeePerGas: withRoom(prices, ceiling), maxPriorityFeePerGas: tip, isLegacy }
  }

  /** The fees for a replacement transaction, for which nodes require a tenth more; null when that exceeds the ceiling. */
  async feesAbove(before: Fees, gas: bigint): Promise<Fees | null> {
    const now = await this.fees(gas)
    const maxFeePerGas = atLeast(now?.maxFeePerGas ?? 0n, more(before.maxFeePerGas))
    const maxPriorityFeePerGas = atLeast(now?.maxPriorityFeePerGas ?? 0n, more(before.maxPriorityFeePerGas))
    if (maxFeePerGas > this.ceilingFor(gas) || maxPriorityFeePerGas > maxFeePerGas) return null
    return { maxFeePerGas, maxPriorityFeePerGas, isLegacy: before.isLegacy }
  }

  private ceilingFor(gas: bigint): bigint {
    const { maxFeePerGas, maxCostPerPayment } = this.ceiling
    const ceiling = maxCostPerPayment / gas
    return maxFeePerGas !== null && maxFeePerGas < ceiling ? maxFeePerGas : ceiling
  }

  private async read(): Promise<Prices> {
    const age = this.prices ? this.now() - this.prices.readAt : -1
    if (this.prices && age >= 0 && age < FRESH_MS) return this.prices
    this.asking ??= this.ask().finally(() => {
      this.asking = null
    })
    return this.asking
  }

  private async ask(): Promise<Prices> {
    const readAt = this.now()
    const [{ baseFeePerGas }, gasPrice, balance] = await Promise.all([
      getBlock(this.client, { blockTag: 'latest' }),
      getGasPrice(this.client),
      getBalance(this.client, { address: this.relayer }),
    ])
    // A node's `gasPrice` is the base fee plus its suggested tip.
    const isLegacy = typeof baseFeePerGas !== 'bigint'
    const base = isLegacy ? gasPrice : baseFeePerGas
    const tip = gasPrice > base ? gasPrice - base : 0n
    this.lastBalance = balance
    this.prices = { isLegacy, base, tip, balance, readAt }
    return this.prices
  }
}

/** Twice the last base fee plus the tip, since the fee may rise before the transaction is mined. Never above the ceiling. */
function withRoom({ base, tip, isLegacy }: Prices, ceiling: bigint): bigint {
  const wanted = isLegacy ? base : base * 2n + tip
  return wanted < ceiling ? wanted : ceiling
}

function more(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n
}

function atLeast(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function gwei(wei: bigint): string {
  return (Number(wei) / 1e9).toString()
}
