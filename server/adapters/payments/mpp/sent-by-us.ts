import type { TransactionReceipt } from 'viem'
import type { ReadCredential } from '../../../core/payments/method'
import type { EvmCredential } from './evm-credential'

/** As long as an authorization lives there are never so many. */
const MAX_KNOWN = 100_000

/**
 * Which transfers to the recipient are payments to this gateway. Another gateway with the same recipient takes the same authorization, so
 * that a transfer says by itself nothing about what it pays for: it counts when our relayer sent it. One that somebody else brought counts only
 * when we had sent it too and its payer signed it for one of our own offers; a top-up never, and neither does x402 whose echo of an offer is not signed.
 */
export class SentByUs {
  private readonly relayer: string
  private readonly sent = new Set<string>()

  constructor(relayer: string) {
    this.relayer = relayer.toLowerCase()
  }

  /** Records that its transfer was sent to the node. */
  add({ handle, credential }: ReadCredential): void {
    const { binding, isSignedFor } = credential as EvmCredential // what `read` made
    if (!binding || !isSignedFor || binding['account'] !== undefined) return
    if (this.sent.size >= MAX_KNOWN) this.sent.clear()
    this.sent.add(handle.transaction)
  }

  /** Whether a mined transaction that moved the money is this gateway's. */
  counts(name: string, { from }: TransactionReceipt): boolean {
    return from.toLowerCase() === this.relayer || this.sent.has(name)
  }
}
