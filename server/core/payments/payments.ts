import { createHmac } from 'node:crypto'
import { type AccountId, makeId, type RequestId } from '../ids'
import { type Money, micros, ZERO } from '../money'
import { no, ok, type Result } from '../result'
import { type Binding, bindingOf, bindingText, digestOf } from './binding'
import type { Claim, NewClaim, PaymentPurpose, Taken } from './claim'
import type { Fate, Offer, PaymentMethod, ReadCredential, Resource, ShownPayment } from './method'
import { Payment, type PaymentParts, SETTLE_MS } from './payment'
import { IN_PROGRESS, NETWORK, type PaymentRefusal, type PaymentRefusalCode, PENDING, USED } from './refusal'
import { type FinishParts, fateOf, finishOpen, isHeldAgainst } from './unfinished'

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
  /** Where it is shown from: an address, or its /64 for IPv6. Null where nothing is done before the payment. */
  readonly addressGroup: string | null
  /** How long what is bought may take before it is there; the payment must live longer. */
  readonly workMs: number
  readonly resource: Resource
  /** Whether the credential comes beside an API key, and so in a header of its own. */
  readonly besideKey?: boolean
}

export interface PaymentsOptions extends PaymentParts, FinishParts {
  /** Keys the hash that addresses are stored under. */
  readonly secret: string
}

/** The longest that one try may take, from its claim to its answer. */
const LEASE_MS = 90_000
/** Of the life of a credential this much is left for the settling. */
const SETTLE_MARGIN_MS = 3_000
/** Clients sign for 25 s: of a slower operation no more is asked, and it is cut off when this is over. */
const MAX_WORK_MS = 15_000
const HOUR_MS = 3_600_000
/** After so many refused settlements in an hour, of a payer or of all at its address, the payment goes before the upstream. */
const PATIENCE = 3
/** Beside so many calls of a payer, or of an address, that are not paid yet, the next one pays first: one transfer can empty the purse of all. */
const MOST_UNPAID = 8

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

  /** What we know of a credential that was shown here before, when it is the same to the letter; also when no method reads it now. */
  claimOf(shown: ShownPayment): Promise<Claim | null> {
    return this.options.claims.findByCredential(digestOf(shown.text))
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
    if (!found.ok) return no((await this.whyUnread(shown)) ?? found.error)
    const { method, read } = found.value
    const binding = bindingOf(bound(purchase), read.binding)
    const standing = await this.standing(method, read, binding)
    if (!standing.ok) return standing
    const known = standing.value
    const seenAt = this.options.clock.now()
    const payer = known ? ok({ payer: known.payer }) : await method.validate(read, { ...purchase, binding })
    // Another try may have settled it meanwhile, which is why it would not go through again.
    if (!payer.ok) return no((await this.whyRefused(read.claimKey, 'open')) ?? payer.error)
    const tooShort = known ? null : this.lifeProblem(read, purchase)
    if (tooShort) return no(tooShort)
    const claim = this.newClaim(purchase, method, read, binding, payer.value.payer)
    const taken = await this.take(method, claim, known ? null : seenAt)
    if (!taken.ok) return taken
    const isPaid = taken.value.kind === 'prepaid'
    const payment = new Payment(this.options, method, read, claim, taken.value, this.deadlines(read))
    // To claim it may have taken a while: nothing is asked of an upstream that has no time left to answer.
    const late = isPaid ? null : this.lifeProblem(read, purchase)
    if (late) await payment.release('too little of its life was left')
    if (late) return no(late)
    if (isPaid || !(await this.paysFirst(claim))) return ok(payment)
    const settled = await payment.settle()
    return settled.ok ? ok(payment) : settled
  }

  /**
   * Ends what no try will end: asks the network about payments of unknown fate, and gives back abandoned claims. `credit` books
   * a paid top-up, and tells whether it is booked. Gives how many it looked at.
   */
  async finishOpen(credit: (claim: Claim) => Promise<boolean>): Promise<number> {
    return finishOpen(this.options, credit)
  }

  /** What the network of a claim says of it now; `open` where no network of ours knows it. */
  fateOf(claim: Claim): Promise<Fate> {
    return fateOf(this.options, claim)
  }

  /** Before anything is served: whoever worked on a claim is gone. */
  recover(): Promise<void> {
    return this.options.claims.endLeases(this.options.clock.now())
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

  /** What stands in the way of a credential that was taken here once, by a method that is switched off now: its money may be ours. */
  private async whyUnread(shown: ShownPayment): Promise<PaymentRefusal | null> {
    const claim = await this.claimOf(shown)
    if (!claim || claim.state === 'released') return null
    return claim.state === 'served' ? USED : PENDING
  }

  /** What we know of this credential: null when it must be validated; its claim when the money is ours already. */
  private async standing(
    method: PaymentMethod,
    read: ReadCredential,
    binding: Binding,
  ): Promise<Result<Claim | null, PaymentRefusal>> {
    const { claims, clock } = this.options
    const claim = await claims.find(read.claimKey)
    if (!claim || (claim.state === 'released' && claim.sentAt === null)) return ok(null)
    if (claim.state === 'served') return no(USED)
    const isSame = claim.credentialHash === read.hash && claim.binding === bindingText(binding)
    if (claim.state === 'released') return ok(isSame ? await this.cameThroughLater(method, claim) : null)
    if (!isSame) return no(IN_PROGRESS)
    if (claim.state !== 'paid_unserved' && claim.leaseUntil > clock.now()) return no(IN_PROGRESS)
    if (claim.state === 'settling') {
      const fate = await method.lookUp(claim)
      if (fate.kind === 'never') await claims.release(claim.key, 'never settled', isHeldAgainst(claim), clock.now())
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

  /** What its network refused once is asked for again: what was sent can be brought to a chain by others, as long as it lives. */
  private async cameThroughLater(method: PaymentMethod, { key, ...sent }: Claim): Promise<Claim | null> {
    const { claims, clock } = this.options
    const fate = await method.lookUp(sent)
    if (fate.kind !== 'settled') return null
    await claims.settled(key, fate.reference, clock.now())
    await claims.owe(key, 'it came through after it was refused', clock.now())
    const claim = await claims.find(key)
    return claim?.paid ? claim : null
  }

  /**
   * Claims it, if the payer has enough for everything that it has open. That it has this amount was seen at `seenAt`; only where
   * more is open is its balance asked for. Null: it is paid for already.
   */
  private async take(
    method: PaymentMethod,
    claim: NewClaim,
    seenAt: number | null,
  ): Promise<Result<Exclude<Taken, { kind: 'refused' }>, PaymentRefusal>> {
    const { claims, clock } = this.options
    const enough = seenAt === null ? undefined : { most: claim.amount, since: seenAt }
    let taken = await claims.take(claim, clock.now(), enough)
    if (taken.kind === 'refused' && taken.why === 'uncovered') {
      const since = clock.now()
      const balance = await method.balance(claim.payer)
      if (balance === null) return no(NETWORK)
      taken = await claims.take(claim, clock.now(), { most: moneyOf(method, balance), since })
    }
    if (taken.kind !== 'refused') return ok(taken)
    if (taken.why === 'uncovered')
      return refused(
        'verification_failed',
        'The open payments of this payer add up to more than its balance. Nothing was charged.',
      )
    if (taken.why === 'worn_out') return no(wornOut(await claims.find(claim.key)))
    return no((await this.whyRefused(claim.key)) ?? USED)
  }

  private async paysFirst(claim: NewClaim): Promise<boolean> {
    const { claims, clock } = this.options
    if ((await claims.settleFailures(claim, clock.now() - HOUR_MS)) >= PATIENCE) return true
    return claim.purpose === 'call' && (await claims.openUnpaid(claim)) >= MOST_UNPAID
  }

  /** Why a payment dies before its answer can be there and paid for; null when it does not. */
  private lifeProblem({ handle }: ReadCredential, { workMs }: Purchase): PaymentRefusal | null {
    if (handle.validBefore === null) return null
    const left = handle.validBefore - this.options.clock.now()
    const needed = SETTLE_MARGIN_MS + Math.min(workMs, MAX_WORK_MS)
    if (left >= needed) return null
    const seconds = (ms: number) => Math.max(0, Math.floor(ms / 1000))
    return {
      code: 'verification_failed',
      reason: `The payment is valid for ${seconds(left)} s more; this request needs ${seconds(needed)} s. Nothing was charged: sign a new one.`,
    }
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
    const { clock, secret } = this.options
    const now = clock.now()
    const { purpose, operation, account, amount, requestId, clientRequestId, addressGroup } = purchase
    return {
      id: makeId('pay', now),
      key: read.claimKey,
      method: method.name,
      currency: method.currency,
      binding: bindingText(binding),
      credentialHash: read.hash,
      ...read.handle,
      ...{ purpose, operation, account, amount, requestId, clientRequestId, payer },
      addressGroup: addressGroup === null ? null : hashed(addressGroup, secret),
      leaseUntil: now + LEASE_MS,
      createdAt: now,
    }
  }

  /** When the answer must be there, so that there is time left to settle. */
  private deadlines({ handle: { validBefore } }: ReadCredential): { paid: number; unpaid: number } {
    const paid = this.options.clock.now() + LEASE_MS - SETTLE_MS
    return { paid, unpaid: validBefore === null ? paid : Math.min(paid, validBefore - SETTLE_MARGIN_MS) }
  }
}

function bound({ operation, fingerprint, clientRequestId, requestId, account }: Purchase) {
  return { operation, fingerprint, clientRequestId, requestId, account }
}

/** What a balance is worth, in whole micro-USD. */
function moneyOf(method: PaymentMethod, balance: bigint): Money {
  const amount = balance / method.units(micros(1))
  return micros(Number(amount < MAX_MONEY ? amount : MAX_MONEY))
}

const MAX_MONEY = BigInt(Number.MAX_SAFE_INTEGER)

/** An address is told by nobody who reads the database. */
function hashed(addressGroup: string, secret: string): string {
  return createHmac('sha256', secret).update(`address of a payer: ${addressGroup}`).digest('base64url')
}

function wornOut(claim: Claim | null): PaymentRefusal {
  if (claim?.paid)
    return {
      code: 'answer_not_kept',
      reason: `Payment ${claim.id} went through, and ${claim.attempts} tries got no answer. It is not tried again: ask the operator for the money back.`,
    }
  return {
    code: 'invalid_challenge',
    reason: `This credential was tried ${claim?.attempts ?? 'too many'} times without an answer. Nothing was charged: answer the new challenge.`,
  }
}

function refused(code: PaymentRefusalCode, reason: string): Result<never, PaymentRefusal> {
  return no({ code, reason })
}
