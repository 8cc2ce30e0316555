import { type Clock, MINUTE_MS } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import { formatUsd, MICROS_PER_USD, type Money, parseUsd } from '../money'
import { fingerprintOf } from '../payments/binding'
import type { Claim, ClaimStore, NewClaim } from '../payments/claim'
import type { Offer, ShownPayment } from '../payments/method'
import type { Payments, Purchase } from '../payments/payments'
import type { DeliveredReceipt } from '../payments/receipt'
import type { PaymentRefusal } from '../payments/refusal'
import { err, ok, type Result } from '../result'
import { MAX_TOP_UP_USD, MIN_TOP_UP_USD } from './top-up-range'

const TOP_UP_OPERATION = 'wallet-topup'

/** A request to top up an account. */
export interface TopUpRequest {
  readonly account: AccountId
  readonly amount: Money
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  /** Whether the request also carries an API key, so that the payment needs its own header. */
  readonly besideKey: boolean
}

export interface PaidTopUp {
  readonly claim: Claim
  /** The receipt if this request paid; null if an earlier one did. */
  readonly receipt: DeliveredReceipt | null
}

/** A claim without a challenge: a payment processor knows it by its `transaction`, which also serves as the credential. */
export function topUpClaim(
  known: Omit<
    NewClaim,
    'purpose' | 'operation' | 'currency' | 'binding' | 'credentialHash' | 'clientRequestId' | 'addressGroup'
  >,
): NewClaim {
  return {
    ...known,
    purpose: 'top_up',
    operation: TOP_UP_OPERATION,
    currency: 'USD',
    binding: '',
    credentialHash: known.transaction,
    clientRequestId: null,
    addressGroup: null,
  }
}

/** Parses a top-up amount in USD, with at most two decimals. Returns null when it is outside the allowed range. */
export function parseTopUp(text: string): Money | null {
  const amount = /^\d{1,5}(\.\d{1,2})?$/.test(text) ? parseUsd(text) : null
  if (amount === null) return null
  return amount >= MIN_TOP_UP_USD * MICROS_PER_USD && amount <= MAX_TOP_UP_USD * MICROS_PER_USD ? amount : null
}

/**
 * Top-ups of account balances. A claim is written before any money moves, the ledger books each claim once by its reference, and
 * a job books what was paid but not yet booked. So a top-up counts exactly once, whatever crashes.
 */
export class TopUps {
  private readonly claims: ClaimStore
  private readonly ledger: Ledger
  private readonly clock: Clock

  constructor(parts: { claims: ClaimStore; ledger: Ledger; clock: Clock }) {
    this.claims = parts.claims
    this.ledger = parts.ledger
    this.clock = parts.clock
  }

  /** The payment challenges for a top-up. */
  offers(payments: Payments, request: TopUpRequest): Promise<readonly Offer[]> {
    return payments.offers(purchaseOf(request))
  }

  /** Pays with a credential. Presenting the same credential again returns the same top-up. */
  async pay(
    payments: Payments,
    request: TopUpRequest,
    shown: ShownPayment,
  ): Promise<Result<PaidTopUp, PaymentRefusal>> {
    const begun = await payments.begin(purchaseOf(request), shown)
    if (!begun.ok) {
      const earlier = await payments.claimOf(shown)
      return earlier && this.isServedFor(earlier, request) ? ok({ claim: earlier, receipt: null }) : begun
    }
    const payment = begun.value
    try {
      const settled = await payment.settle()
      if (!settled.ok) return settled
      const claim = await this.claims.find(payment.claim.key)
      if (!claim || !(await this.creditFinal(payments, claim))) return err(PENDING)
      const receipt = await payment.served()
      return ok({ claim: { ...claim, state: 'served' }, receipt })
    } finally {
      await payment.release('not booked yet')
    }
  }

  /** A top-up with worthless sandbox money, for development. The ledger entry says so. */
  async payInSandbox(account: AccountId, amount: Money, requestId: RequestId): Promise<Claim | null> {
    const now = this.clock.now()
    const id = makeId('pay', now)
    const key = `sandbox:${id}`
    const claim = topUpClaim({
      id,
      key,
      account,
      amount,
      requestId,
      method: 'sandbox',
      payer: 'sandbox',
      transaction: id,
      validBefore: null,
      leaseUntil: now + MINUTE_MS,
      createdAt: now,
    })
    const taken = await this.claims.take(claim, now)
    if (taken.kind === 'refused' || !(await this.claims.settling(key, taken.attempt, now))) return null
    return (await this.book(key, 'sandbox')) ? this.claims.find(key) : null
  }

  /** Books a claim whose money has arrived. Returns false when it could not be booked yet; the job tries again. */
  async book(key: string, reference: string): Promise<boolean> {
    await this.claims.settled(key, reference, this.clock.now())
    const claim = await this.claims.find(key)
    if (!claim || !(await this.credit(claim))) return false
    await this.claims.served(key, this.clock.now())
    return true
  }

  /**
   * Books a paid top-up once its network considers it final (`PAYMENTS_CONFIRMATIONS`). Returns false until then. A payment that
   * the network reverted is marked as lost.
   */
  async creditFinal(payments: Pick<Payments, 'fateOf'>, claim: Claim): Promise<boolean> {
    // Payments by card and in the sandbox are final at once.
    if (claim.method === 'card' || claim.method === 'sandbox') return this.credit(claim)
    const fate = await payments.fateOf(claim)
    if (fate.kind === 'never') await this.lose(claim)
    return fate.kind === 'settled' && fate.isFinal !== false && (await this.credit(claim))
  }

  /** Undoes a reverted payment. A process that crashed may have booked it already. */
  private async lose(claim: Claim): Promise<void> {
    const reference = ledgerReference(claim)
    const { references } = await this.ledger.booked(reference)
    if (references.includes(reference)) await this.takeBack(claim)
    await this.claims.lost(claim.key, 'the network took it back', this.clock.now())
  }

  /** Takes back a booked top-up that its network reverted, once. Returns false when it was already taken back. */
  async takeBack({ id, account, amount, method }: Claim): Promise<boolean> {
    if (!account) throw new Error(`top-up ${id} belongs to no account`)
    const booked = await this.ledger.takeBack({
      account,
      amount,
      kind: 'refund',
      description: `Top-up ${id} by ${method} was reverted by its network`,
      reference: `reorganised:${id}`,
    })
    if (!booked.ok && booked.error !== 'already_booked') throw new Error(`${id} could not be taken back`)
    return booked.ok
  }

  /** Books a paid top-up, once. Returns true when it is booked, by this call or an earlier one. */
  async credit(claim: Claim): Promise<boolean> {
    const { account, amount, method, reference, id } = claim
    if (!account) throw new Error(`top-up ${id} belongs to no account`)
    const description =
      method === 'sandbox'
        ? 'Sandbox top-up, no money moved'
        : `Top-up of ${formatUsd(amount)} USD by ${method}, ${reference ?? ''}`
    const booked = await this.ledger.credit({
      account,
      part: 'paid',
      kind: 'top_up',
      amount,
      description,
      reference: ledgerReference(claim),
    })
    return booked.ok || booked.error === 'already_booked'
  }

  private isServedFor(claim: Claim, { account, amount }: TopUpRequest): boolean {
    return (
      claim.purpose === 'top_up' && claim.state === 'served' && claim.account === account && claim.amount === amount
    )
  }
}

function ledgerReference({ id }: Claim): string {
  return `top_up:${id}`
}

const PENDING: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The payment went through but its network has not confirmed it yet. Send the request again with the same credential.',
}

function purchaseOf({ account, amount, requestId, clientRequestId, besideKey }: TopUpRequest): Purchase {
  const description = `Wallet top-up of ${formatUsd(amount)} USD`
  // Covers what the request buys, not its form: the same top-up may be requested as JSON or as a form.
  const what = { method: 'POST', path: '/v1/wallet/topups', query: [], input: { amount: formatUsd(amount) } }
  return {
    purpose: 'top_up',
    operation: TOP_UP_OPERATION,
    amount,
    description,
    fingerprint: fingerprintOf(what),
    requestId,
    clientRequestId,
    account,
    resource: { method: what.method, url: what.path },
    addressGroup: null,
    workMs: 0,
    besideKey,
  }
}
