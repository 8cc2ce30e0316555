import { type Actor, auditEntry } from '../../audit'
import type { Clock } from '../../clock'
import { type Failure, failure } from '../../failure'
import { makeId, type PaymentId, type RefundId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { Ledger } from '../../ledger/ledger'
import { formatUsd, type Money, micros, plus, ZERO } from '../../money'
import type { CardCheckout, CardReturn } from '../../payments/card-checkout'
import type { Claim, ClaimStore } from '../../payments/claim'
import { err, ok, type Result } from '../../result'
import { isUnavailable } from '../../unavailable'
import type { CardRefund, CardRefundStore } from './card-refund'
import { refundReference, returnReference, takenBy } from './card-top-ups'

/** One cent: what card processors count in. */
const CENT = 10_000
const PAGE_SIZE = 200

export interface NewCardRefund {
  readonly payment: PaymentId
  /** Null refunds what is left of the payment. */
  readonly amount: Money | null
  readonly reason: string
  /** A second refund with the same reference is the same refund. */
  readonly reference: string
}

/**
 * Refunds of card payments that operators ask for. A row is durable first, then the money leaves the balance, then the processor is
 * asked, under the refund's own id: asking twice sends once. After any interruption `finish` goes on from there; the balance gets its
 * money back only once the processor said that nothing was sent.
 */
export class CardRefunds {
  private readonly parts: {
    readonly card: CardCheckout
    readonly claims: Pick<ClaimStore, 'byId'>
    readonly store: CardRefundStore
    readonly ledger: Ledger
    readonly clock: Clock
  }
  private readonly mutex = new KeyedMutex()

  constructor(parts: CardRefunds['parts']) {
    this.parts = parts
  }

  /** Never more than what was paid, minus what was already returned or disputed, and never what the account spent or holds. */
  refund(actor: Actor, wanted: NewCardRefund): Promise<Result<CardRefund, Failure>> {
    return this.mutex.take(wanted.payment, async () => {
      const { claims, store, clock } = this.parts
      const known = await store.byReference(wanted.reference)
      if (known) return this.again(known, wanted)
      const claim = await claims.byId(wanted.payment)
      if (!claim) return err(failure('resource_not_found', `The payment ${wanted.payment} does not exist.`))
      if (claim.method !== 'card' || claim.state !== 'served' || !claim.account || !claim.reference)
        return err(failure('invalid_state', 'Only a card payment that was booked can be refunded by its processor.'))
      const asked = await this.asked(claim)
      const others = await this.otherReturns(claim.reference, asked)
      if (!(await this.areBooked(others, claim))) return err(UNBOOKED)
      const left = leftOf(claim, [...asked, ...others])
      const amount = wanted.amount ?? left
      if (amount > left || amount <= 0)
        return err(
          failure('invalid_parameter', `At most ${formatUsd(left)} USD of this payment can still be refunded.`),
        )
      if (amount % CENT !== 0) return err(failure('invalid_parameter', 'A card refund is a whole number of cents.'))
      const at = clock.now()
      const { payment, reason, reference } = wanted
      const refund: CardRefund = {
        id: makeId('rfd', at),
        payment,
        accountId: claim.account,
        amount,
        reason,
        reference,
        state: 'asked',
        processorId: null,
        lastError: null,
        createdAt: at,
        updatedAt: at,
      }
      const detail = { refund: refund.id, payment, amount, reason, reference }
      const audit = auditEntry({ at, actor, accountId: claim.account, action: 'account.card_refund', detail })
      if (!(await store.open(refund, audit))) return err(ELSEWHERE)
      return this.proceed(refund, claim.reference)
    })
  }

  /** Goes on with every refund whose outcome is open, for the job. Returns how many reached their end. */
  async finish(): Promise<number> {
    const { claims, store } = this.parts
    let ended = 0
    for await (const { payment, reference } of unfinished(store))
      await this.mutex.take(payment, async () => {
        // It may have ended while this waited.
        const refund = await store.byReference(reference)
        if (!refund || !isOpen(refund)) return
        const claim = await claims.byId(payment)
        if (!claim?.reference) return
        const done = await this.proceed(refund, claim.reference)
        if (done.ok && !isOpen(done.value)) ended++
      })
    return ended
  }

  /** Refunds and disputes at the processor that no row here explains. */
  private async otherReturns(payment: string, asked: readonly CardRefund[]): Promise<readonly CardReturn[]> {
    const returns = await this.parts.card.returns(payment)
    return returns.filter(({ ours, state }) => state !== 'failed' && !asked.some(({ id }) => id === ours))
  }

  private async asked({ id }: Claim): Promise<readonly CardRefund[]> {
    const all = await this.parts.store.ofPayment(id)
    return all.filter(({ state }) => state !== 'refused' && state !== 'failed')
  }

  /** Whether the ledger knows these returns. One that it does not know may be the refund that is asked for, from before a restore. */
  private async areBooked(returns: readonly CardReturn[], claim: Claim): Promise<boolean> {
    for (const one of returns) {
      if (one.isDoubtful) return false
      const { takenBack } = await this.parts.ledger.booked(returnReference(one.id, one.ours))
      if (takenBack !== takenBy(one, claim)) return false
    }
    return true
  }

  private async again(known: CardRefund, wanted: NewCardRefund): Promise<Result<CardRefund, Failure>> {
    const isSame = known.payment === wanted.payment && (wanted.amount === null || wanted.amount === known.amount)
    if (!isSame)
      return err(failure('invalid_state', `The reference ${wanted.reference} belongs to another refund, ${known.id}.`))
    if (!isOpen(known)) return ok(known)
    const claim = await this.parts.claims.byId(known.payment)
    return claim?.reference ? this.proceed(known, claim.reference) : ok(known)
  }

  private async proceed(refund: CardRefund, payment: string): Promise<Result<CardRefund, Failure>> {
    if (refund.state === 'asked') {
      const { ledger } = this.parts
      const { id, accountId, amount, reason } = refund
      const booked = await ledger.takeBackAvailable({
        account: accountId,
        amount,
        kind: 'refund',
        reference: refundReference(id),
        description: `Refund of top-up ${refund.payment}: ${reason}`,
      })
      if (!booked.ok && booked.error === 'insufficient') {
        await this.saved({ ...refund, state: 'refused', lastError: 'the paid balance was spent or is held' })
        return err(
          failure(
            'invalid_state',
            'The paid balance is lower than the refund, or held by calls in progress. Nothing was refunded.',
          ),
        )
      }
      // A crash after the booking left the row behind: the money is already out of the balance.
      if (!booked.ok && booked.error !== 'already_booked') return ok(refund)
      return this.send(await this.saved({ ...refund, state: 'sent' }), payment)
    }
    return this.send(refund, payment)
  }

  /** Asks the processor, unless it already has the refund. An unknown outcome leaves the row as it is, for the next attempt. */
  private async send(refund: CardRefund, payment: string): Promise<Result<CardRefund, Failure>> {
    const { card } = this.parts
    try {
      const known = (await card.returns(payment)).find(({ ours }) => ours === refund.id)
      if (known) return ok(await this.settled(refund, known))
      if (refund.state === 'pending') return ok(refund)
      const answer = await card.refund({ id: refund.id, payment, amount: refund.amount })
      if (answer.kind === 'accepted') return ok(await this.settled(refund, answer.refund))
      const refused = await this.givenBack({ ...refund, state: 'refused', lastError: answer.reason })
      return refused.state === 'refused'
        ? err(
            failure(
              'invalid_state',
              `The card processor refused the refund: ${answer.reason} The balance is as before.`,
            ),
          )
        : ok(refused)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return ok(await this.saved({ ...refund, lastError: 'the card processor did not answer; it will be asked again' }))
    }
  }

  private settled(refund: CardRefund, { id, state, isDoubtful }: CardReturn): Promise<CardRefund> {
    if (isDoubtful) return this.saved({ ...refund, processorId: id, lastError: DOUBTFUL })
    const known = { ...refund, processorId: id, lastError: null }
    if (state === 'failed')
      return this.givenBack({ ...known, state: 'failed', lastError: 'the processor could not pay it out' })
    return this.saved({ ...known, state })
  }

  /** Credits the balance again, once. The row ends only when that is booked. */
  private async givenBack(ended: CardRefund): Promise<CardRefund> {
    const { ledger } = this.parts
    const name = refundReference(ended.id)
    const { references, takenBack } = await ledger.booked(name)
    if (takenBack > 0) {
      const booked = await ledger.credit({
        account: ended.accountId,
        part: 'paid',
        kind: 'refund',
        amount: takenBack,
        description: `Failed refund of top-up ${ended.payment}`,
        reference: `${name}:${references.length}`,
      })
      if (!booked.ok && booked.error !== 'already_booked')
        return this.saved({ ...ended, state: 'sent', lastError: 'the balance could not be credited yet' })
    }
    return this.saved(ended)
  }

  private async saved(refund: CardRefund): Promise<CardRefund> {
    const changed = { ...refund, updatedAt: this.parts.clock.now() }
    await this.parts.store.update(changed)
    return changed
  }
}

const UNBOOKED = failure(
  'invalid_state',
  'The card processor has a refund or dispute of this payment that is not booked here, as after a restore. Nothing was refunded. Run "gateway operator reconcile --apply" (or the page Money), and look whether this refund was already made.',
)
const DOUBTFUL = 'what the card processor says of it cannot be right; look it up there'
const ELSEWHERE = failure('invalid_state', 'Another refund has this reference. Look it up, or use another reference.')

/** The refundable amount: paid, minus refunds, pending refunds and disputes. */
function leftOf({ amount: paid }: Claim, gone: readonly { readonly amount: Money }[]): Money {
  const sum = gone.reduce((total, { amount }) => plus(total, amount), ZERO)
  return micros(Math.max(0, paid - sum))
}

/** All of them: those that wait for the processor for days must not hide newer ones. */
async function* unfinished(store: CardRefundStore): AsyncGenerator<CardRefund, void> {
  for (let after: RefundId | null = null; ; ) {
    const page: readonly CardRefund[] = await store.unfinished(PAGE_SIZE, after)
    yield* page
    after = page.at(-1)?.id ?? null
    if (page.length < PAGE_SIZE) return
  }
}

function isOpen({ state }: CardRefund): boolean {
  return state === 'asked' || state === 'sent' || state === 'pending'
}
