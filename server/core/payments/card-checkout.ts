import type { AccountId, PaymentId } from '../ids'
import type { Money } from '../money'

/** A page of the card processor where one top-up is paid. */
export interface CardPage {
  readonly id: string
  readonly url: string
  readonly expiresAt: number
}

/** What the processor itself says of a page now. */
export interface CardState {
  readonly state: 'open' | 'paid' | 'expired'
  readonly amount: Money
  /** Upper case. */
  readonly currency: string
  /** What the processor calls the payment. */
  readonly payment: string | null
}

/** A refund or a dispute as the processor has it now. */
export interface CardReturn {
  readonly kind: 'refund' | 'dispute'
  /** What the processor calls it. */
  readonly id: string
  /** What it takes from us now: nothing while a refund is pending, after it failed, and once a dispute is won. */
  readonly amount: Money
}

/** A signed message of the processor: only what to ask it about, never the figures themselves. */
export type CardMessage =
  | { readonly kind: 'page'; readonly id: string }
  | { readonly kind: 'payment'; readonly payment: string }
  | { readonly kind: 'other' }

/** Card payments by a processor's own pages: card numbers never come here. Throws when the processor does not answer. */
export interface CardCheckout {
  open(topUp: {
    readonly id: PaymentId
    readonly account: AccountId
    readonly email: string
    readonly amount: Money
  }): Promise<CardPage>
  state(page: string): Promise<CardState>
  /** The page on which a payment was made; null when it was none of ours. */
  pageOf(payment: string): Promise<string | null>
  /** Every refund and dispute of a payment, however it stands. */
  returns(payment: string): Promise<readonly CardReturn[]>
  /** Null when the signature is not the processor's, over exactly these bytes, or not of now. */
  message(body: Uint8Array, signature: string): Promise<CardMessage | null>
}
