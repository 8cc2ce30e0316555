import { type AccountId, makeId, type RequestId } from '../ids'
import { type Money, ZERO } from '../money'
import { no, ok, type Result } from '../result'
import { type Binding, bindingOf, bindingText } from './binding'
import type { Claim, NewClaim, PaymentPurpose } from './claim'
import type { Fate, Offer, PaymentMethod, ReadCredential, Resource, ShownPayment } from './method'
import { Payment, type PaymentParts } from './payment'
import { NETWORK, type PaymentRefusal, type PaymentRefusalCode, PENDING } from './refusal'

/** One thing that somebody pays for by itself. */
export interface Purchase {
  readonly purpose: PaymentPurpose
  readonly operation: string
  readonly amount: Money
  readonly description: string
  /** Of the request that is paid for (`fingerprintOf`). */
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  /** Whose wallet a top-up fills. */
  readonly account: AccountId | null
  readonly resource: Resource
  /** Whether the credential comes beside an API key, and so in a header of its own. */
  readonly besideKey?: boolean
}

export interface PaymentsOptions extends PaymentParts {
  /** The ways to pay, once they can be used: the network is opened after the server listens. */
  readonly methods: () => Promise<readonly PaymentMethod[]>
  /** What became of a claim that is none of these methods': a top-up by card. */
  readonly elsewhere?: (claim: Claim) => Promise<Fate>
}

/** The longest that one try may take, from its claim to its answer. */
const LEASE_MS = 90_000
/** Of it, and of the life of the credential, this much is kept for the settling. */
const SETTLE_MS = 30_000
const SETTLE_MARGIN_MS = 3_000
const HOUR_MS = 3_600_000
/** After so many refused settlements in an hour a payer pays before the upstream is called. */
const PATIENCE_WITH_PAYER = 3

/**
 * Payments for one thing each (spec 5.3). Order of a call: `begin` validates and claims, moving nothing; the upstream works;
 * `settle` moves the money; `served` ends it. A failure before `settle` moves nothing and leaves the credential usable.
 * While a payment's fate is open, no refusal of it allows a new challenge (`mayOfferAgain`).
 */
export class Payments {
  private readonly options: PaymentsOptions

  constructor(options: PaymentsOptions) {
    this.options = options
  }

  /** A new challenge for each method. */
  async offers(purchase: Purchase): Promise<readonly Offer[]> {
    const methods = await this.options.methods()
    const binding = bindingOf(bound(purchase), null)
    const offers = await Promise.all(methods.map((method) => method.offer({ ...purchase, binding })))
    return offers.filter((offer) => offer !== null)
  }

  /** How an amount can be paid, for documents. */
  async waysFor(amount: Money) {
    const methods = await this.options.methods()
    const offering = methods.filter(({ leastAmount = ZERO }) => amount >= leastAmount)
    return offering.map((method) => ({
      method: method.name,
      intent: 'charge' as const,
      amount: String(method.units(amount)),
      currency: method.currency,
      alsoBy: method.alsoBy ?? null,
    }))
  }

  /** What we know of a credential that was shown here before, when it is the same to the letter. */
  async claimOf(shown: ShownPayment): Promise<Claim | null> {
    const found = await this.read(shown)
    const claim = found.ok ? await this.options.claims.find(found.value.read.claimKey) : null
    return found.ok && claim?.credentialHash === found.value.read.hash ? claim : null
  }

  /**
   * Whose wallet a credential says that it fills. Believed only once `begin` has judged it; x402 echoes no challenge of ours, so
   * what it says of a wallet is nobody's word.
   */
  async accountIn(shown: ShownPayment): Promise<string | null> {
    if (shown.scheme === 'x402') return null
    const found = await this.read(shown)
    return found.ok ? (found.value.read.binding?.['account'] ?? null) : null
  }

  /** Judges a credential and claims it for this try. */
  async begin(purchase: Purchase, shown: ShownPayment): Promise<Result<Payment, PaymentRefusal>> {
    const found = await this.read(shown)
    if (!found.ok) return found
    const { method, read } = found.value
    const binding = bindingOf(bound(purchase), read.binding)
    const standing = await this.standing(method, read, binding)
    if (!standing.ok) return standing
    const known = standing.value
    const payer = known ? ok({ payer: known.payer }) : await method.validate(read, { ...purchase, binding })
    // Another try may have settled it meanwhile, which is why it would not go through again.
    if (!payer.ok) return no((await this.whyRefused(read.claimKey, 'open')) ?? payer.error)
    if (!known) {
      const covered = await this.isCovered(method, payer.value.payer, read.claimKey, purchase.amount)
      if (!covered.ok) return covered
    }
    const claim = this.newClaim(purchase, method, read, binding, payer.value.payer)
    const taken = await this.options.claims.take(claim, this.options.clock.now())
    if (taken.kind === 'refused') return no((await this.whyRefused(read.claimKey)) ?? USED)
    const payment = new Payment(this.options, method, read, claim, taken, this.deadline(read, taken.kind === 'prepaid'))
    if (taken.kind === 'prepaid' || !(await this.paysFirst(claim.payer))) return ok(payment)
    const settled = await payment.settle()
    return settled.ok ? ok(payment) : settled
  }

  /**
   * Ends what no try will end: asks the network about payments of unknown fate, and gives back abandoned claims. `credit` books
   * a paid top-up, and tells whether it is booked. Gives how many it looked at.
   */
  async finishOpen(credit: (claim: Claim) => Promise<boolean>): Promise<number> {
    const { claims, clock } = this.options
    const open = await claims.unfinished(clock.now(), 200)
    for (const claim of open)
      await this.finish(claim, credit).catch((error: unknown) =>
        this.options.onTrouble('payment', `${claim.id}: ${error}`),
      )
    return open.length
  }

  /** Before anything is served: whoever worked on a claim is gone. */
  recover(): Promise<void> {
    return this.options.claims.endLeases(this.options.clock.now())
  }

  private async finish(claim: Claim, credit: (claim: Claim) => Promise<boolean>): Promise<void> {
    const { claims, clock, onTrouble } = this.options
    if (claim.state === 'working') return claims.release(claim.key, 'abandoned', false, clock.now())
    let { reference } = claim
    if (claim.state === 'settling') {
      const method = (await this.options.methods()).find(({ name }) => name === claim.method)
      const fate = await (method?.lookUp(claim) ?? this.options.elsewhere?.(claim) ?? OPEN)
      if (fate.kind === 'never') return claims.release(claim.key, 'never settled', false, clock.now())
      if (fate.kind === 'open') return onTrouble('payment', `${claim.id} is not settled yet`)
      await claims.settled(claim.key, fate.reference, clock.now())
      reference = fate.reference
    }
    if (claim.purpose === 'call') return claims.owe(claim.key, 'the answer was lost', clock.now())
    if (await credit({ ...claim, reference })) return claims.served(claim.key, clock.now())
    onTrouble('payment', `${claim.id} is paid and not booked; it is tried again`)
  }

  private async read(
    shown: ShownPayment,
  ): Promise<Result<{ method: PaymentMethod; read: ReadCredential }, PaymentRefusal>> {
    for (const method of await this.options.methods()) {
      const read = await method.read(shown)
      if (read) return read.ok ? ok({ method, read: read.value }) : read
    }
    return refused('invalid_challenge', 'No payment method that is offered here takes this credential.')
  }

  /** What we know of this credential: null when it must be validated; its claim when the money is ours already. */
  private async standing(
    method: PaymentMethod,
    read: ReadCredential,
    binding: Binding,
  ): Promise<Result<Claim | null, PaymentRefusal>> {
    const { claims, clock } = this.options
    const claim = await claims.find(read.claimKey)
    if (!claim || claim.state === 'released') return ok(null)
    if (claim.state === 'served') return no(USED)
    if (claim.credentialHash !== read.hash || claim.binding !== bindingText(binding)) return no(IN_PROGRESS)
    if (claim.state !== 'paid_unserved' && claim.leaseUntil > clock.now()) return no(IN_PROGRESS)
    if (claim.state === 'settling') {
      const fate = await method.lookUp(claim)
      if (fate.kind === 'never') await claims.release(claim.key, 'never settled', false, clock.now())
      if (fate.kind === 'never') return ok(null)
      // Sending the same transaction again is safe: the network takes it once.
      const end = fate.kind === 'settled' ? fate : await method.settle(read)
      if (end.kind === 'unknown') return no(PENDING)
      if (end.kind === 'refused') {
        // It may have been mined between the question and the sending.
        const again = await method.lookUp(claim)
        if (again.kind !== 'settled') return no(PENDING)
        await claims.settled(claim.key, again.reference, clock.now())
      } else await claims.settled(claim.key, end.reference, clock.now())
      await claims.owe(claim.key, 'the answer was lost', clock.now())
      return ok(await claims.find(claim.key))
    }
    return ok(claim.paid ? claim : null)
  }

  /** A payer whose open payments are more than it has would not pay for all of them. */
  private async isCovered(
    method: PaymentMethod,
    payer: string,
    key: string,
    amount: Money,
  ): Promise<Result<null, PaymentRefusal>> {
    const open = await this.options.claims.openSum(payer, key)
    if (open === 0) return ok(null)
    const balance = await method.balance(payer)
    if (balance === null) return no(NETWORK)
    if (balance >= method.units(open) + method.units(amount)) return ok(null)
    return refused('verification_failed', 'The payments of this payer that are under way are more than it has.')
  }

  private async paysFirst(payer: string): Promise<boolean> {
    const { claims, clock } = this.options
    return (await claims.settleFailures(payer, clock.now() - HOUR_MS)) >= PATIENCE_WITH_PAYER
  }

  /** What stands in the way of a claim; null when nothing does. */
  private async whyRefused(key: string, only?: 'open'): Promise<PaymentRefusal | null> {
    const claim = await this.options.claims.find(key)
    if (!claim || claim.state === 'released') return null
    if (claim.state !== 'served') return IN_PROGRESS
    return only === 'open' ? null : USED
  }

  private newClaim(
    purchase: Purchase,
    method: PaymentMethod,
    read: ReadCredential,
    binding: Binding,
    payer: string,
  ): NewClaim {
    const now = this.options.clock.now()
    const { purpose, operation, account, amount, requestId, clientRequestId } = purchase
    return {
      id: makeId('pay', now),
      key: read.claimKey,
      method: method.name,
      currency: method.currency,
      binding: bindingText(binding),
      credentialHash: read.hash,
      ...read.handle,
      ...{ purpose, operation, account, amount, requestId, clientRequestId, payer },
      leaseUntil: now + LEASE_MS,
      createdAt: now,
    }
  }

  /** When the answer must be there, so that there is time left to settle. */
  private deadline({ handle }: ReadCredential, isPaid: boolean): number {
    const latest = this.options.clock.now() + LEASE_MS - SETTLE_MS
    if (isPaid || handle.validBefore === null) return latest
    return Math.min(latest, handle.validBefore - SETTLE_MARGIN_MS)
  }
}

const OPEN: Fate = { kind: 'open' }

const IN_PROGRESS: PaymentRefusal = {
  code: 'payment_in_progress',
  reason: 'This payment is being worked on. Ask again with the same credential; do not pay a second time.',
}
const USED: PaymentRefusal = {
  code: 'invalid_challenge',
  reason: 'This credential has already been used.',
}

function bound({ operation, fingerprint, clientRequestId, requestId, account }: Purchase) {
  return { operation, fingerprint, clientRequestId, requestId, account }
}

function refused(code: PaymentRefusalCode, reason: string): Result<never, PaymentRefusal> {
  return no({ code, reason })
}
