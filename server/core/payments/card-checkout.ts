import type { AccountId, PaymentId, RefundId } from '../ids'
import type { Money } from '../money'

/** The card processor's payment page for one top-up. */
export interface CardPage {
  readonly id: string
  readonly url: string
  readonly expiresAt: number
}

/** The current state of a page, as read from the processor. */
export interface CardState {
  readonly state: 'open' | 'paid' | 'expired'
  readonly amount: Money
  /** Upper case. Empty if the amount is invalid. */
  readonly currency: string
  /** The processor's id of the payment. */
  readonly payment: string | null
  /** This gateway's note on the page; null on pages of others. */
  readonly topUp: { readonly id: PaymentId; readonly account: AccountId } | null
}

/** A page as the processor lists it. */
export interface ListedPage extends CardState {
  readonly id: string
  readonly topUp: NonNullable<CardState['topUp']>
}

/** A page that this gateway opened, and that its database does not know: it was restored from an older copy. */
export interface UnknownCheckout {
  readonly page: string
  /** The top-up that it is for. Null in rows from before it was stored. */
  readonly payment: PaymentId | null
  readonly messages: number
  readonly firstAt: number
  readonly lastAt: number
}

/** Pages of the processor that are unknown here, until they are resolved. */
export interface UnknownCheckoutStore {
  /** Keeps a page, or counts one more message about it. Returns whether it is new. */
  keep(page: string, payment: PaymentId, now: number): Promise<boolean>
  unresolved(): Promise<readonly UnknownCheckout[]>
  resolve(page: string, now: number): Promise<void>
}

/** The current state of a refund or dispute, as read from the processor. */
export interface CardReturn {
  readonly kind: 'refund' | 'dispute'
  /** The processor's id of it. */
  readonly id: string
  /**
   * The amount taken from us now. Zero after a refund failed and once a dispute is won, and while a refund is pending that was not asked
   * for here.
   */
  readonly amount: Money
  /** The id of the refund that was asked for here; null for any other. Its money left the balance before the processor was asked. */
  readonly ours: string | null
  readonly state: 'pending' | 'succeeded' | 'failed'
  /** Set if it cannot be right: no amount of USD, of another payment, or two of one id that differ. It is listed, and never booked. */
  readonly isDoubtful?: true
}

/** A signed webhook message. It only names what to read from the processor; its figures are never used. */
export type CardMessage =
  | { readonly kind: 'page'; readonly id: string }
  | { readonly kind: 'payment'; readonly payment: string }
  | { readonly kind: 'other' }

/** Card payments on a processor's own pages, so that card numbers never reach the gateway. Throws when the processor is unreachable. */
export interface CardCheckout {
  open(topUp: {
    readonly id: PaymentId
    readonly account: AccountId
    readonly email: string
    readonly amount: Money
  }): Promise<CardPage>
  state(page: string): Promise<CardState>
  /** This gateway's note on a page; null when the page is not ours, or the processor does not know it. */
  topUpOn(page: string): Promise<CardState['topUp']>
  /** The page on which a payment was made, or null when the page is not ours. */
  pageOf(payment: string): Promise<string | null>
  /** Every page of ours that was opened from `from` to before `to` (ms). */
  pagesBetween(from: number, to: number): AsyncIterable<ListedPage>
  /** The payments of which a refund or dispute was made in that time. */
  returnedBetween(from: number, to: number): AsyncIterable<string>
  /** Every refund and dispute of a payment, in any state. */
  returns(payment: string): Promise<readonly CardReturn[]>
  /**
   * Sends money back. Asking again with the same `id` sends nothing more. Throws when the outcome is unknown; `refused`: nothing was or
   * will be sent.
   */
  refund(refund: {
    readonly id: RefundId
    readonly payment: string
    readonly amount: Money
  }): Promise<
    { readonly kind: 'accepted'; readonly refund: CardReturn } | { readonly kind: 'refused'; readonly reason: string }
  >
  /** Reads a webhook message. Returns null when its signature is invalid or too old. */
  message(body: Uint8Array, signature: string): Promise<CardMessage | null>
}
