import type { Money } from '../money'
import type { Result } from '../result'
import type { Binding } from './binding'
import type { Receipt } from './receipt'
import type { PaymentRefusal } from './refusal'

/** What is paid for, as an address: x402 names it in its offers and its payments. */
export interface Resource {
  readonly method: string
  /** As the request named it; an offer names it by our public origin. */
  readonly url: string
}

/** What one payment buys, and what its credential is bound to. */
export interface Terms {
  readonly amount: Money
  /** For people; stands in the challenge (spec 2.4). */
  readonly description: string
  readonly binding: Binding
  readonly resource: Resource
  /** Whether the credential comes beside an API key, and so in `Payment-Authorization`. */
  readonly besideKey?: boolean
}

/** One way to pay, as it is put into a 402 (spec 2.4). */
export interface Offer {
  readonly method: string
  readonly challengeId: string
  /** The challenge in the wire form of the `Payment` scheme, for `WWW-Authenticate`. */
  readonly challenge: string
  /** The same offer for clients of another protocol: header name to value. */
  readonly more: Readonly<Record<string, string>>
}

/** A credential as it came: of the `Payment` scheme, or x402's `PAYMENT-SIGNATURE`. */
export interface ShownPayment {
  readonly scheme: 'payment' | 'x402'
  readonly text: string
}

/** How the network knows the payment: what to ask it for, and until when it can still happen. */
export interface SettlementHandle {
  readonly transaction: string
  /** After this moment (ms) an unsettled payment can never settle; null when the credential sets no end. */
  readonly validBefore: number | null
  /** What the network called it when it was counted as paid; a payment that counted once counts, whoever brought it. */
  readonly reference?: string | null
}

/** A credential that could be read. Nothing of it is believed yet. */
export interface ReadCredential {
  /** One claim per key, for ever: the challenge id, or what the network itself takes only once. */
  readonly claimKey: string
  /** SHA-256 of the text. */
  readonly hash: string
  /** What it says that it was bound to. */
  readonly binding: Binding | null
  readonly handle: SettlementHandle
  /** The method's own form of it. */
  readonly credential: unknown
}

export interface ValidPayment {
  /** Who pays: recovered from the signature, never what the credential claims. */
  readonly payer: string
}

/**
 * `settled`: the money moved. `refused`: it did not, and this credential never will. `unknown`: the network did not say; ask
 * with `lookUp`. `isOurs`: by trouble that no payer makes, such as a silent node or a paused token; what comes of it is not held
 * against the payer.
 */
export type SettleOutcome =
  | { readonly kind: 'settled'; readonly reference: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly isOurs?: boolean }
  | { readonly kind: 'unknown'; readonly reason: string; readonly isOurs?: boolean }

/**
 * `open`: not settled yet, and it still may; or the network does not answer. `isFinal` is false while
 * the network could still take it back.
 */
export type Fate =
  | { readonly kind: 'settled'; readonly reference: string; readonly isFinal?: boolean }
  | { readonly kind: 'never' }
  | { readonly kind: 'open' }

/**
 * One way to take money for one thing. Nothing but `settle` moves any; it may be repeated with the same credential, for the
 * network takes each one once. A dead network is a value, not an exception.
 */
export interface PaymentMethod {
  readonly name: string
  /** Address of the token's contract. */
  readonly currency: string
  /** For documents: what other protocol takes the same offer, and how. */
  readonly alsoBy?: string
  /** The least amount that is offered this way; all are where it is absent. */
  readonly leastAmount?: Money
  /** An amount in the token's smallest unit. */
  units(amount: Money): bigint
  /** Null while it cannot be paid this way: the network is down, or settling costs more than it may. */
  offer(terms: Terms): Promise<Offer | null>
  /** Null when the credential is of another method. */
  read(shown: ShownPayment): Promise<Result<ReadCredential, PaymentRefusal> | null>
  /** Judges it against the terms, the signature and the network. Changes nothing. */
  validate(read: ReadCredential, terms: Terms): Promise<Result<ValidPayment, PaymentRefusal>>
  settle(read: ReadCredential): Promise<SettleOutcome>
  lookUp(handle: SettlementHandle): Promise<Fate>
  /** The receipt for clients of another protocol: header name to value. */
  receiptHeaders?(read: ReadCredential, receipt: Receipt): Readonly<Record<string, string>>
  /** What the payer has, in the token's smallest unit; null when the network does not answer. */
  balance(payer: string): Promise<bigint | null>
}
