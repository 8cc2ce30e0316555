import { createHmac } from 'node:crypto'
import { HOUR_MS } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import { type Money, micros, ZERO } from '../money'
import { err, ok, type Result } from '../result'
import { type Binding, bindingOf, bindingText, digestOf } from './binding'
import type { Claim, ClaimTaken, NewClaim, PaymentPurpose } from './claim'
import { PAYMENT_YIELD } from './event-loop-yield'
import type { Offer, PaymentFate, PaymentMethod, ReadCredential, Resource, ShownPayment } from './method'
import { Payment, type PaymentParts, SETTLE_MS } from './payment'
import { BUSY, IN_PROGRESS, NETWORK, type PaymentRefusal, type PaymentRefusalCode, PENDING, USED } from './refusal'
import { countsAgainstPayer, type FinishParts, fateOf, finishOpen } from './unfinished'

/** Something that is paid for on its own: a call or a top-up. */
export interface Purchase {
  readonly purpose: PaymentPurpose
  readonly operation: string
  /** The price, or the maximum of a price that follows from the answer. */
  readonly amount: Money
  /** The minimum of a price that follows from the answer. Absent for a fixed price. */
  readonly least?: Money
  readonly description: string
  /** The fingerprint of the request (`fingerprintOf`). */
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  /** The account to top up. */
  readonly account: AccountId | null
  /** The caller's IP address, or its /64 for IPv6. Null when nothing is done before the payment. */
  readonly addressGroup: string | null
  /** The longest that the work may take. The payment must stay valid for longer. */
  readonly workMs: number
  readonly resource: Resource
  /** Whether the request also carries an API key, so that the credential comes in its own header. */
  readonly besideKey?: boolean
}

export interface PaymentsOptions extends PaymentParts, FinishParts {
  /** The key of the hash under which addresses are stored. */
  readonly secret: string
}

/** The longest that one attempt may take, from claim to response. */
const LEASE_MS = 90_000
/** The part of a credential's lifetime that is reserved for settling. */
const SETTLE_MARGIN_MS = 3_000
/** Clients sign for 25 s, so slower operations require no more than this, and are cut off when it ends. */
const MAX_WORK_MS = 15_000
/** After this many refused settlements per hour, a payer or address must pay before the upstream is called. */
const MAX_SETTLE_FAILURES = 3
/** With this many unpaid calls in progress, a payer or address must pay first: one transfer could empty the funds of all of them. */
const MAX_UNPAID = 8
/** How many payments are checked at once: a few seconds of work. A later one would wait longer than a payment may. */
const MAX_BEGINNING = 500

/**
 * Payments for single purchases (spec 5.3). The order of a call: `begin` validates and claims without moving money, the upstream
 * works, `settle` moves the money, `served` ends it. A failure before `settle` moves no money and leaves the credential usable.
 * While the outcome of a payment is unknown, no refusal allows a new challenge (`mayOfferAgain`).
 */
export class Payments {
  private readonly options: PaymentsOptions
  /** The hashes of the credentials that are being checked here. */
  private readonly beginning = new Set<string>()

  constructor(options: PaymentsOptions) {
    this.options = options
  }

  /** Creates a challenge for each payment method. */
  async offers(purchase: Purchase): Promise<readonly Offer[]> {
    const methods = await this.methodsFor(purchase)
    const binding = bindingOf(bound(purchase), null)
    const offers = await Promise.all(methods.map((method) => method.offer({ ...purchase, binding })))
    return offers.filter((offer) => offer !== null)
  }

  /** How an amount can be paid, for the documentation. `least`: the minimum of a price that follows from the answer. */
  async waysFor(amount: Money, least?: Money) {
    const methods = await this.methodsFor(least === undefined ? {} : { least })
    const offering = methods.filter(({ minAmount = ZERO }) => (least ?? amount) >= minAmount)
    return offering.map((method) => ({
      method: method.name,
      intent: 'charge' as const,
      amount: String(method.units(amount)),
      currency: method.currency,
      alsoBy: method.alsoBy ?? null,
    }))
  }

  /** The claim of exactly this credential, if it was presented before. Works even if no active method can read it. */
  claimOf(shown: ShownPayment): Promise<Claim | null> {
    return this.options.claims.findByCredential(digestOf(shown.text))
  }

  /**
   * The account that a credential claims to top up. Not verified before `begin`. Null for x402, which does not echo our challenge
   * and so proves nothing about the account.
   */
  async accountIn(shown: ShownPayment): Promise<string | null> {
    if (shown.scheme === 'x402') return null
    const found = await this.read(shown, {})
    return found.ok ? (found.value.read.binding?.['account'] ?? null) : null
  }

  /**
   * Validates a credential and claims it for this attempt. A copy of one that is being checked is refused before anything is checked of it, and
   * so is whatever exceeds what can be checked at once.
   */
  async begin(purchase: Purchase, shown: ShownPayment): Promise<Result<Payment, PaymentRefusal>> {
    const begun = await this.begunOnce(purchase, shown)
    this.options.onStep?.(begun.ok ? 'verified' : 'refused')
    return begun
  }

  private async begunOnce(purchase: Purchase, shown: ShownPayment): Promise<Result<Payment, PaymentRefusal>> {
    const hash = digestOf(shown.text)
    if (this.beginning.has(hash)) return err(IN_PROGRESS)
    if (this.beginning.size >= MAX_BEGINNING) return err(BUSY)
    this.beginning.add(hash)
    try {
      return await this.claimed(purchase, shown)
    } finally {
      this.beginning.delete(hash)
    }
  }

  private async claimed(purchase: Purchase, shown: ShownPayment): Promise<Result<Payment, PaymentRefusal>> {
    const found = await this.readFor(shown, purchase)
    if (!found.ok) return found
    const { method, read } = found.value
    const binding = bindingOf(bound(purchase), read.binding)
    const earlier = await this.earlierPayment(method, read, binding)
    if (!earlier.ok) return earlier
    const known = earlier.value
    if (!known && !servesPrice(method, purchase)) return refused('invalid_challenge', NOT_FOR_THIS_PRICE)
    const seenAt = this.options.clock.now()
    const payer = known ? ok({ payer: known.payer }) : await method.validate(read, { ...purchase, binding })
    // Validation may have failed because another attempt settled it in the meantime.
    if (!payer.ok) return err((await this.whyRefused(read.claimKey)) ?? payer.error)
    const tooShort = known ? null : this.lifeProblem(read, purchase)
    if (tooShort) return err(tooShort)
    const claim = this.newClaim(purchase, method, read, binding, payer.value.payer)
    const taken = await this.take(method, claim, known ? null : seenAt)
    if (!taken.ok) return taken
    const isPaid = taken.value.kind === 'prepaid'
    const payment = new Payment(this.options, method, read, claim, taken.value, this.deadlines(read))
    // Claiming may have taken a while. Do not call an upstream that has no time left to answer.
    const late = isPaid ? null : this.lifeProblem(read, purchase)
    if (late) await payment.release('too little of its life was left')
    if (late) return err(late)
    if (isPaid || !(await this.paysFirst(claim))) return ok(payment)
    // The order of settlement is not known yet.
    if (method.isUpTo) await payment.release('it would have to be paid first')
    if (method.isUpTo) return err(TOO_MANY_UNPAID)
    const settled = await payment.settle()
    return settled.ok ? ok(payment) : settled
  }

  /**
   * Finishes claims that no attempt will finish: asks the network about payments with an unknown outcome, and releases abandoned
   * claims. `credit` books a paid top-up and returns whether it is booked. Returns the number of claims checked.
   */
  async finishOpen(credit: (claim: Claim) => Promise<boolean>): Promise<number> {
    return finishOpen(this.options, credit)
  }

  /** The outcome of a claim according to its network; `open` when no network of ours knows it. */
  fateOf(claim: Claim): Promise<PaymentFate> {
    return fateOf(this.options, claim)
  }

  /** Call before the gateway serves: ends the leases of the previous process. */
  recover(): Promise<void> {
    return this.options.claims.endLeases(this.options.clock.now())
  }

  /** The methods that serve prices of this kind. */
  private async methodsFor({ least }: Pick<Purchase, 'least'>): Promise<readonly PaymentMethod[]> {
    return (await this.options.methods()).filter((method) => servesPrice(method, { least }))
  }

  /** Reads a credential with the methods of this price, or with its own if an earlier attempt claimed it: prices can change meanwhile. */
  private async readFor(shown: ShownPayment, purchase: Purchase) {
    const found = await this.read(shown, purchase)
    if (found.ok) return found
    const claim = await this.claimOf(shown)
    if (!claim || claim.state === 'released') return found
    const method = (await this.options.methods()).find(({ name }) => name === claim.method)
    const read = (await method?.read(shown)) ?? null
    if (method && read?.ok) return ok({ method, read: read.value })
    // Its method is switched off now, but its money may have arrived.
    return err(claim.state === 'served' ? USED : PENDING)
  }

  private async read(
    shown: ShownPayment,
    purchase: Pick<Purchase, 'least'>,
  ): Promise<Result<{ method: PaymentMethod; read: ReadCredential }, PaymentRefusal>> {
    const methods = await this.methodsFor(purchase)
    await PAYMENT_YIELD.next()
    for (const method of methods) {
      const read = await method.read(shown)
      if (read) return read.ok ? ok({ method, read: read.value }) : read
    }
    return refused('invalid_challenge', 'No payment method of this gateway accepts this credential.')
  }

  /** The result of an earlier attempt: the claim when its money has arrived, null when the credential must be validated. */
  private async earlierPayment(
    method: PaymentMethod,
    read: ReadCredential,
    binding: Binding,
  ): Promise<Result<Claim | null, PaymentRefusal>> {
    const { claims, clock } = this.options
    const claim = await claims.find(read.claimKey)
    if (!claim || (claim.state === 'released' && claim.sentAt === null)) return ok(null)
    if (claim.state === 'served') return err(USED)
    const isSame = claim.credentialHash === read.hash && claim.binding === bindingText(binding)
    if (claim.state === 'released') return ok(isSame ? await this.settledAfterRefusal(method, claim) : null)
    if (!isSame) return err(IN_PROGRESS)
    if (claim.state !== 'paid_unserved' && claim.leaseUntil > clock.now()) return err(IN_PROGRESS)
    if (claim.state === 'settling') {
      const fate = await method.lookUp(claim)
      if (fate.kind === 'never')
        await claims.release(claim.key, 'never settled', countsAgainstPayer(claim), clock.now())
      if (fate.kind === 'never') return ok(null)
      // Sending the same transaction again is safe: the network accepts it once.
      const end = fate.kind === 'settled' ? fate : await method.settle(read, claim.amount)
      if (end.kind === 'unknown') return err(PENDING)
      if (end.kind === 'refused') {
        // It may have been mined between the look-up and the sending.
        const again = await method.lookUp(claim)
        if (again.kind !== 'settled') return err(PENDING)
        await claims.settled(claim.key, again.reference, clock.now())
      } else await claims.settled(claim.key, end.reference, clock.now())
      await claims.markUnserved(claim.key, 'the answer was lost', clock.now())
      return ok(await claims.find(claim.key))
    }
    return ok(claim.paid ? claim : null)
  }

  /** Looks up a refused payment again: until it expires, anyone can still submit it to the chain. */
  private async settledAfterRefusal(method: PaymentMethod, { key, ...sent }: Claim): Promise<Claim | null> {
    const { claims, clock } = this.options
    const fate = await method.lookUp(sent)
    if (fate.kind !== 'settled') return null
    await claims.settled(key, fate.reference, clock.now())
    await claims.markUnserved(key, 'it came through after it was refused', clock.now())
    const claim = await claims.find(key)
    return claim?.paid ? claim : null
  }

  /**
   * Claims the credential if the payer can cover all of its open payments. At `seenAt` the payer was seen to have this amount. Its
   * balance is read only if it has more open payments. `seenAt` is null for a payment that is already paid.
   */
  private async take(
    method: PaymentMethod,
    claim: NewClaim,
    seenAt: number | null,
  ): Promise<Result<Exclude<ClaimTaken, { kind: 'refused' }>, PaymentRefusal>> {
    const { claims, clock } = this.options
    const covered = seenAt === null ? undefined : { funds: claim.amount, since: seenAt }
    let taken = await claims.take(claim, clock.now(), covered)
    if (taken.kind === 'refused' && taken.why === 'uncovered') {
      const since = clock.now()
      const balance = await method.balance(claim.payer)
      if (balance === null) return err(NETWORK)
      taken = await claims.take(claim, clock.now(), { funds: moneyOf(method, balance), since })
    }
    if (taken.kind !== 'refused') return ok(taken)
    if (taken.why === 'uncovered')
      return refused('verification_failed', 'The open payments of this payer exceed its balance. Nothing was charged.')
    if (taken.why === 'worn_out') return err(wornOut(await claims.find(claim.key)))
    return err((await this.whyRefused(claim.key)) ?? USED)
  }

  private async paysFirst(claim: NewClaim): Promise<boolean> {
    const { claims, clock } = this.options
    if ((await claims.settleFailures(claim, clock.now() - HOUR_MS)) >= MAX_SETTLE_FAILURES) return true
    return claim.purpose === 'call' && (await claims.openUnpaid(claim)) >= MAX_UNPAID
  }

  /** The refusal of a payment that expires before the work can be done and paid for; otherwise null. */
  private lifeProblem({ handle }: ReadCredential, { workMs }: Purchase): PaymentRefusal | null {
    if (handle.validBefore === null) return null
    const left = handle.validBefore - this.options.clock.now()
    const needed = SETTLE_MARGIN_MS + Math.min(workMs, MAX_WORK_MS)
    if (left >= needed) return null
    const seconds = (ms: number) => Math.max(0, Math.floor(ms / 1000))
    return {
      code: 'verification_failed',
      reason: `The payment expires in ${seconds(left)} s, but this request needs ${seconds(needed)} s. Nothing was charged. Sign a new payment.`,
    }
  }

  /** The refusal that an existing claim causes; null when there is none. */
  private async whyRefused(key: string): Promise<PaymentRefusal | null> {
    const claim = await this.options.claims.find(key)
    if (!claim || claim.state === 'released') return null
    return claim.state === 'served' ? USED : IN_PROGRESS
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
      purpose,
      operation,
      account,
      amount,
      requestId,
      clientRequestId,
      payer,
      addressGroup: addressGroup === null ? null : hashed(addressGroup, secret),
      leaseUntil: now + LEASE_MS,
      createdAt: now,
    }
  }

  /** When the response must be ready, so that there is time left to settle. */
  private deadlines({ handle: { validBefore } }: ReadCredential): { paid: number; unpaid: number } {
    const paid = this.options.clock.now() + LEASE_MS - SETTLE_MS
    return { paid, unpaid: validBefore === null ? paid : Math.min(paid, validBefore - SETTLE_MARGIN_MS) }
  }
}

function bound({ operation, fingerprint, clientRequestId, requestId, account }: Purchase) {
  return { operation, fingerprint, clientRequestId, requestId, account }
}

/** Converts a token balance to micro-USD, rounding down. */
function moneyOf(method: PaymentMethod, balance: bigint): Money {
  const amount = balance / method.units(micros(1))
  return micros(Number(amount < MAX_MONEY ? amount : MAX_MONEY))
}

const MAX_MONEY = BigInt(Number.MAX_SAFE_INTEGER)

/** Keyed, so that the database alone does not reveal addresses. */
function hashed(addressGroup: string, secret: string): string {
  return createHmac('sha256', secret).update(`address of a payer: ${addressGroup}`).digest('base64url')
}

/** Whether a method takes payments for a price of this kind: fixed, or known from the answer. */
function servesPrice({ isUpTo }: PaymentMethod, { least }: { readonly least?: Money | undefined }): boolean {
  return (isUpTo ?? false) === (least !== undefined)
}

const NOT_FOR_THIS_PRICE = 'The price of this request has changed. Pay with a new challenge.'

const TOO_MANY_UNPAID: PaymentRefusal = {
  code: 'verification_failed',
  reason:
    'This payer or address has too many payments that are open or failed within the last hour. Nothing was charged. Use an API key, or try again later.',
}

function wornOut(claim: Claim | null): PaymentRefusal {
  if (claim?.paid)
    return {
      code: 'answer_not_kept',
      reason: `Payment ${claim.id} went through, but ${claim.attempts} attempts produced no response. It is not tried again. Ask the operator for a refund.`,
    }
  return {
    code: 'invalid_challenge',
    reason: `This credential was tried ${claim?.attempts ?? 'too many'} times without a response. Nothing was charged. Pay with a new challenge.`,
  }
}

function refused(code: PaymentRefusalCode, reason: string): Result<never, PaymentRefusal> {
  return err({ code, reason })
}
