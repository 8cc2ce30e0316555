import type { TransactionReceipt } from 'viem'
import type { ReadCredential } from '../../../../core/payments/method'
import type { EvmCredential } from '../evm/evm-credential'

/** More than there can be during the lifetime of an authorization. */
const MAX_KNOWN = 100_000

/**
 * Which transfers to the recipient are payments to this gateway. Another gateway with the same recipient accepts the same
 * authorization, so a transfer alone does not show what it pays for. It counts if our relayer sent it. A transfer that someone else
 * submitted counts only if we had sent it too and its payer signed it for one of our own offers. That excludes top-ups, and x402
 * payments whose echo of the offer is not signed.
 */
export class SentByUs {
  private readonly relayer: string
  private readonly sent = new Set<string>()

  constructor(relayer: string) {
    this.relayer = relayer.toLowerCase()
  }

  /** Records that its transfer was sent to the node. */
  add({ handle, credential }: ReadCredential): void {
    const { binding, isSignedFor } = credential as EvmCredential // created by `read`
    if (!binding || !isSignedFor || binding['account'] !== undefined) return
    if (this.sent.size >= MAX_KNOWN) this.sent.clear()
    this.sent.add(handle.transaction)
  }

  /** Whether a mined transaction that moved the money is this gateway's. */
  counts(name: string, { from }: TransactionReceipt): boolean {
    return from.toLowerCase() === this.relayer || this.sent.has(name)
  }
}
