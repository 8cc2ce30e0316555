import type { Money } from '../../../server/core/money'
import { bindingText, digestOf } from '../../../server/core/payments/binding'
import type {
  Offer,
  PaymentFate,
  PaymentMethod,
  ReadCredential,
  SettlementHandle,
  SettleOutcome,
  ShownPayment,
  Terms,
  ValidPayment,
} from '../../../server/core/payments/method'
import type { PaymentRefusal } from '../../../server/core/payments/refusal'
import { err, ok, type Result } from '../../../server/core/result'

/**
 * A payment network in memory, that fails on command. A credential is JSON: the challenge, who pays, and a number that makes it
 * another one.
 */
export class FixturePayment implements PaymentMethod {
  readonly name: string = 'fixture'
  readonly currency = '0xfixture'
  /** The movements, by transaction: more than one of the same would be money taken twice. */
  readonly moved: string[] = []
  /** The amounts that were asked for, by sending. */
  readonly amounts: Money[] = []
  readonly offered: Terms[] = []
  readonly balances = new Map<string, bigint>()
  /** The results of the next sendings; then they succeed. */
  readonly sendings: ('refuse' | 'lose reply' | 'never arrive' | 'meet trouble of ours')[] = []
  isDead = false
  /** Judged dead by the network: their time is over. */
  readonly dead = new Set<string>()
  private readonly known = new Set<string>()
  /** The number of the newest challenge, which no other network of this process has. */
  private challenges = 0
  private static made = 0

  get newestChallenge(): string {
    return `challenge-${this.challenges}`
  }

  units(amount: Money): bigint {
    return BigInt(amount)
  }

  async offer(terms: Terms): Promise<Offer> {
    this.offered.push(terms)
    this.challenges = ++FixturePayment.made
    const challengeId = `challenge-${this.challenges}`
    this.known.add(`${challengeId} ${terms.amount} ${bindingText(terms.binding)}`)
    return { method: this.name, challengeId, challenge: `Payment id="${challengeId}", method="fixture"`, more: {} }
  }

  /** A payer's credential for the newest offer. */
  pay(
    more: { payer?: string; salt?: number; validBefore?: number; challengeId?: string; terms?: Terms } = {},
  ): ShownPayment {
    const terms = more.terms ?? this.offered.at(-1)
    const challengeId = more.challengeId ?? this.newestChallenge
    const text = JSON.stringify({
      challengeId,
      payer: more.payer ?? 'ada',
      salt: more.salt ?? 0,
      validBefore: more.validBefore ?? null,
      binding: terms?.binding,
    })
    return { scheme: 'payment', text }
  }

  async read(shown: ShownPayment): Promise<Result<ReadCredential, PaymentRefusal> | null> {
    if (!shown.text.startsWith('{')) return err({ code: 'malformed_credential', reason: 'not JSON' })
    const credential = JSON.parse(shown.text) as {
      challengeId: string
      payer: string
      salt: number
      validBefore: number | null
      binding: Record<string, string>
    }
    const transaction = `tx ${credential.challengeId} ${credential.salt}`
    return ok({
      claimKey: credential.challengeId,
      hash: digestOf(shown.text),
      binding: credential.binding,
      handle: { transaction, validBefore: credential.validBefore },
      credential,
    })
  }

  async validate(read: ReadCredential, terms: Terms): Promise<Result<ValidPayment, PaymentRefusal>> {
    if (this.isDead) return err({ code: 'payment_network_unavailable', reason: 'dead' })
    const { challengeId, payer } = read.credential as { challengeId: string; payer: string }
    if (!this.known.has(`${challengeId} ${terms.amount} ${bindingText(terms.binding)}`))
      return err({ code: 'invalid_challenge', reason: 'not of this request' })
    if (this.moved.includes(read.handle.transaction)) return err({ code: 'verification_failed', reason: 'would fail' })
    return ok({ payer })
  }

  async settle({ handle }: ReadCredential, amount?: Money): Promise<SettleOutcome> {
    if (amount !== undefined) this.amounts.push(amount)
    const mishap = this.sendings.shift()
    if (this.isDead || mishap === 'never arrive') return { kind: 'unknown', reason: 'no reply' }
    if (mishap === 'meet trouble of ours') return { kind: 'unknown', reason: 'the token is paused', isOurs: true }
    if (mishap === 'refuse') return { kind: 'refused', reason: 'the payer has no money' }
    // A network takes a transaction once, however often it is sent.
    if (!this.moved.includes(handle.transaction)) this.moved.push(handle.transaction)
    if (mishap === 'lose reply') return { kind: 'unknown', reason: 'no reply' }
    return { kind: 'settled', reference: handle.transaction }
  }

  /** A reorganisation takes a payment back, whose time is over meanwhile. */
  forget(transaction: string): void {
    this.moved.splice(this.moved.indexOf(transaction), 1)
    this.dead.add(transaction)
  }

  async lookUp({ transaction }: SettlementHandle): Promise<PaymentFate> {
    if (this.isDead) return { kind: 'open' }
    if (this.moved.includes(transaction)) return { kind: 'settled', reference: transaction }
    return this.dead.has(transaction) ? { kind: 'never' } : { kind: 'open' }
  }

  async balance(payer: string): Promise<bigint | null> {
    return this.isDead ? null : (this.balances.get(payer) ?? 1_000_000n)
  }
}

/** The same network, for prices that follow from the answer. */
export class FixtureUpTo extends FixturePayment {
  override readonly name = 'up to'
  readonly isUpTo = true
}
