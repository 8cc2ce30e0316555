import type { Clock } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import { formatUsd, type Money, micros, parseUsd } from '../money'
import { fingerprintOf } from '../payments/binding'
import type { Claim, ClaimStore, NewClaim } from '../payments/claim'
import type { Offer, ShownPayment } from '../payments/method'
import type { Payments, Purchase } from '../payments/payments'
import type { GivenReceipt } from '../payments/receipt'
import type { PaymentRefusal } from '../payments/refusal'
import { no, ok, type Result } from '../result'

/** The least and the most that one top-up may be. */
const LEAST_TOP_UP: Money = micros(1_000_000)
const MAX_TOP_UP: Money = micros(10_000_000_000)
const TOP_UP_OPERATION = 'wallet-topup'

/** Who tops up, in which request. */
export interface TopUpRequest {
  readonly account: AccountId
  readonly amount: Money
  readonly requestId: RequestId
  readonly clientRequestId: string | null
  /** Whether the payment will come beside an API key, and so in a header of its own. */
  readonly besideKey: boolean
}

export interface PaidTopUp {
  readonly claim: Claim
  /** Of the request that paid; null when it was paid by an earlier one. */
  readonly receipt: GivenReceipt | null
}

/** A claim that no challenge stands behind: a processor knows it by its `transaction`, which stands for the credential too. */
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

/** An amount of USD with at most two decimals, within the bounds. */
export function parseTopUp(text: string): Money | null {
  const amount = /^\d{1,5}(\.\d{1,2})?$/.test(text) ? parseUsd(text) : null
  return amount !== null && amount >= LEAST_TOP_UP && amount <= MAX_TOP_UP ? amount : null
}

/**
 * Money that owners pay in. A claim is written before anything is charged, the ledger takes each claim once (its reference), and
 * what is paid and not booked is booked by the job: so a top-up counts exactly once, whatever crashes.
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

  /** The challenges that a top-up can be paid by. */
  offers(payments: Payments, request: TopUpRequest): Promise<readonly Offer[]> {
    return payments.offers(purchaseOf(request))
  }

  /** Pays by a credential. The same one again gets the same top-up again, and nothing more. */
  async pay(
    payments: Payments,
    request: TopUpRequest,
    shown: ShownPayment,
  ): Promise<Result<PaidTopUp, PaymentRefusal>> {
    const begun = await payments.begin(purchaseOf(request), shown)
    if (!begun.ok) {
      const before = await payments.claimOf(shown)
      return before && this.isOf(before, request) ? ok({ claim: before, receipt: null }) : begun
    }
    const payment = begun.value
    try {
      const settled = await payment.settle()
      if (!settled.ok) return settled
      const claim = await this.claims.find(payment.claim.key)
      if (!claim || !(await this.creditFinal(payments, claim))) return no(PENDING)
      const receipt = await payment.served()
      return ok({ claim: { ...claim, state: 'served' }, receipt })
    } finally {
      await payment.release('not booked yet')
    }
  }

  /** A top-up by money that is worth nothing, for development; it is named so. */
  async payInSandbox(account: AccountId, amount: Money, requestId: RequestId): Promise<Claim | null> {
    const now = this.clock.now()
    const id = makeId('pay', now)
    const key = `sandbox:${id}`
    const claim = topUpClaim({
      ...{ id, key, account, amount, requestId },
      ...{ method: 'sandbox', payer: 'sandbox', transaction: id },
      ...{ validBefore: null, leaseUntil: now + 60_000, createdAt: now },
    })
    const taken = await this.claims.take(claim, now)
    if (taken.kind === 'refused' || !(await this.claims.settling(key, taken.attempt, now))) return null
    return (await this.book(key, 'sandbox')) ? this.claims.find(key) : null
  }

  /** The money of a claim is there: books it, and ends the claim. False when it is not booked yet; the job tries again. */
  async book(key: string, reference: string): Promise<boolean> {
    await this.claims.settled(key, reference, this.clock.now())
    const claim = await this.claims.find(key)
    if (!claim || !(await this.credit(claim))) return false
    await this.claims.served(key, this.clock.now())
    return true
  }

  /**
   * Books a paid top-up once its network cannot take it back any more (`PAYMENTS_CONFIRMATIONS`). False while that is not so; one that the
   * network took back meanwhile is not paid.
   */
  async creditFinal(payments: Pick<Payments, 'fateOf'>, claim: Claim): Promise<boolean> {
    // What a processor or the sandbox says is final when it is said.
    if (claim.method === 'card' || claim.method === 'sandbox') return this.credit(claim)
    const fate = await payments.fateOf(claim)
    if (fate.kind === 'never') await this.lose(claim)
    return fate.kind === 'settled' && fate.isFinal !== false && (await this.credit(claim))
  }

  /** Not paid after all. It may be booked all the same, by a process that died before it had said so. */
  private async lose(claim: Claim): Promise<void> {
    const reference = bookedAs(claim)
    const { references } = await this.ledger.booked(reference)
    if (references.includes(reference)) await this.takeBack(claim)
    await this.claims.lost(claim.key, 'the network took it back', this.clock.now())
  }

  /** Its network took a booked top-up back: so does an entry, once. False when it was taken back before. */
  async takeBack({ id, account, amount, method }: Claim): Promise<boolean> {
    if (!account) throw new Error(`top-up ${id} belongs to no account`)
    const booked = await this.ledger.takeBack({
      ...{ account, amount, kind: 'refund' },
      description: `Top-up ${id} by ${method} was taken back by its network`,
      reference: `reorganised:${id}`,
    })
    if (!booked.ok && booked.error !== 'already_booked') throw new Error(`${id} could not be taken back`)
    return booked.ok
  }

  /** Books a paid top-up, once. True when it is booked, by this call or an earlier one. */
  async credit(claim: Claim): Promise<boolean> {
    const { account, amount, method, reference, id } = claim
    if (!account) throw new Error(`top-up ${id} belongs to no account`)
    const named =
      method === 'sandbox' ? 'Sandbox top-up, no money moved' : `Top-up of ${formatUsd(amount)} USD by ${method}`
    const booked = await this.ledger.credit({
      account,
      part: 'paid',
      kind: 'top_up',
      amount,
      description: method === 'sandbox' ? named : `${named}, ${reference ?? ''}`,
      reference: bookedAs(claim),
    })
    return booked.ok || booked.error === 'already_booked'
  }

  private isOf(claim: Claim, { account, amount }: TopUpRequest): boolean {
    return (
      claim.purpose === 'top_up' && claim.state === 'served' && claim.account === account && claim.amount === amount
    )
  }
}

/** What its entry in the ledger is known by. */
function bookedAs({ id }: Claim): string {
  return `top_up:${id}`
}

const PENDING: PaymentRefusal = {
  code: 'payment_pending',
  reason:
    'The payment went through and waits to be confirmed by its network; then it is booked. Ask again with the same credential.',
}

function purchaseOf({ account, amount, requestId, clientRequestId, besideKey }: TopUpRequest): Purchase {
  const description = `Wallet top-up of ${formatUsd(amount)} USD`
  // Not of the request, but of what it buys: the same top-up may be asked for in any form.
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
