import { type Address, type Client, encodeFunctionData, erc20Abi, type Hex, hexToNumber } from 'viem'
import { call, getBlock } from 'viem/actions'
import { CANNOT_SEND, NETWORK, type PaymentRefusal } from '../../../../core/payments/refusal'
import { chainReason } from '../refusals'
import { isRevert } from './node-trouble'
import { ofNetwork, type RelayProblem } from './relayer'

export interface ChainWatchOptions {
  readonly chainId: number
  readonly token: string
  readonly recipient: string
  /** The maximum age of the last block; null for a chain that makes blocks only for transactions. */
  readonly maxBlockAgeMs: number | null
  readonly now: () => number
  /** Called once, with the reason, when the chain stops being usable. */
  readonly onTrouble: (what: string, reason: string) => void
  /** Additional checks, run at the same time. */
  readonly also?: () => Promise<RelayProblem | null>
  /** Prepares a chain that does not make blocks by itself; runs before any request to it. */
  readonly freshen?: () => Promise<void>
}

/** How long a healthy result is reused. */
const WELL_MS = 2000
/** The longest that an offer waits for a silent node. */
const OFFER_PATIENCE_MS = 1000

/**
 * Whether payments can go through on this chain now: its node serves the configured chain, blocks are made, and the token can be
 * transferred to the recipient. A healthy result is reused for a few seconds; a problem is checked again each time, one check at a
 * time, so that recovery is noticed at once.
 */
export class ChainWatch {
  private readonly client: Client
  private readonly options: ChainWatchOptions
  private healthyAt = Number.NEGATIVE_INFINITY
  private checking: Promise<string | null> | null = null
  private lastReported: string | null = null
  private isOurs = false

  constructor(client: Client, options: ChainWatchOptions) {
    this.client = client
    this.options = options
  }

  /** The current problem; null when there is none. */
  async problem(): Promise<string | null> {
    const age = this.options.now() - this.healthyAt
    return age >= 0 && age < WELL_MS ? null : this.checkAgain()
  }

  /** The message to payers while there is a problem. */
  refusal(): PaymentRefusal {
    return this.isOurs ? CANNOT_SEND : NETWORK
  }

  /** Checks for a problem now, ignoring earlier results. */
  checkAgain(): Promise<string | null> {
    this.checking ??= this.check().finally(() => {
      this.checking = null
    })
    return this.checking
  }

  /** Whether an offer can be made. A node that does not answer in time counts as a problem. `now`: ignore earlier results. */
  async isWell(now = false): Promise<boolean> {
    const silent = Promise.withResolvers<string>()
    const patience = setTimeout(() => silent.resolve('the node is silent'), OFFER_PATIENCE_MS)
    const problem = await Promise.race([now ? this.checkAgain() : this.problem(), silent.promise])
    clearTimeout(patience)
    return problem === null
  }

  private async check(): Promise<string | null> {
    const startedAt = this.options.now()
    const found = await this.findProblem().catch((error: unknown) =>
      ofNetwork(`the node does not answer: ${chainReason(error)}`),
    )
    const problem = found?.reason ?? null
    this.isOurs = found?.isOurs ?? false
    this.healthyAt = problem === null ? startedAt : Number.NEGATIVE_INFINITY
    // A lasting problem is reported once, even if the numbers in it change.
    const kind = problem?.replace(/[\d.]+/g, '') ?? null
    if (problem !== null && kind !== this.lastReported)
      this.options.onTrouble('payments are not offered until their network recovers', problem)
    this.lastReported = kind
    return problem
  }

  private async findProblem(): Promise<RelayProblem | null> {
    const { chainId, maxBlockAgeMs, now, freshen, also } = this.options
    await freshen?.()
    const [answered, { timestamp }, moves, other] = await Promise.all([
      this.chainId(),
      getBlock(this.client, { blockTag: 'latest' }),
      this.tokenMoves(),
      also?.() ?? null,
    ])
    if (answered !== chainId) return ofNetwork(`the node serves chain ${answered}, not ${chainId}`)
    if (maxBlockAgeMs !== null && now() - Number(timestamp) * 1000 > maxBlockAgeMs)
      return ofNetwork(
        `the last block is older than ${maxBlockAgeMs / 1000} s: the chain has halted, or its node is behind`,
      )
    return ofNetwork(moves) ?? other
  }

  /** Without `getChainId`, which shares a question that is still open: a node that is well again would inherit its failure. */
  private async chainId(): Promise<number> {
    return hexToNumber(await this.client.request({ method: 'eth_chainId' }))
  }

  /** A zero transfer from the recipient to itself: if the token refuses it, no payer is at fault. */
  private async tokenMoves(): Promise<string | null> {
    const recipient = this.options.recipient as Address // the configuration validated its form
    const data: Hex = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [recipient, 0n] })
    try {
      await call(this.client, { account: recipient, to: this.options.token as Address, data })
      return null
    } catch (error) {
      if (!isRevert(error)) throw error
      return `the token cannot be transferred to the recipient (the token is paused, or an address is blocked): ${chainReason(error)}`
    }
  }
}
