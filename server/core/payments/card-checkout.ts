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

/** Money that went back, or is claimed back; `dispute_won`: came again after a dispute. Each is booked once, by its reference. */
export interface CardReturn {
  readonly kind: 'refund' | 'dispute' | 'dispute_won'
  readonly reference: string
  /** The page whose payment it was. */
  readonly page: string
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
  /** What went back, is claimed back, or came again, of a payment. */
  returns(payment: string): Promise<readonly CardReturn[]>
  /** Null when the signature is not the processor's. */
  message(body: string, signature: string): Promise<CardMessage | null>
}
