import type { PaymentOffers } from '../failure'
import type { Money } from '../money'
import type { Result } from '../result'
import type { Binding } from './binding'
import type { Receipt } from './receipt'
import type { PaymentRefusal } from './refusal'

/** The resource that is paid for. x402 names it in its offers and payments. */
export interface Resource {
  readonly method: string
  /** As in the request. Offers replace its origin with the gateway's public one. */
  readonly url: string
}

/** The purchase of a payment, and the request to which its credential is bound. */
export interface Terms {
  /** The price, or the maximum of a price that follows from the answer. */
  readonly amount: Money
  /** The minimum of a price that follows from the answer. Absent for a fixed price. */
  readonly least?: Money
  /** Human-readable, part of the challenge (spec 2.4). */
  readonly description: string
  readonly binding: Binding
  readonly resource: Resource
  /** Whether the request also carries an API key, so that the credential comes in `Payment-Authorization`. */
  readonly besideKey?: boolean
}

/** One way to pay, as listed in a 402 response (spec 2.4). */
export interface Offer {
  readonly method: string
  /** The challenge in the wire form of the `Payment` scheme, for `WWW-Authenticate`. Absent if that scheme cannot express the offer. */
  readonly challengeId?: string
  readonly challenge?: string
  /** The same offer for clients of another protocol: header name to value. */
  readonly more: Readonly<Record<string, string>>
  /** The same offer for clients that read the body of the 402: members next to `error`. */
  readonly body?: Readonly<Record<string, unknown>>
}

/** All offers in the form that a 402 carries them; null if there are none. */
export function refusalOffers(offers: readonly Offer[]): PaymentOffers | null {
  const [first] = offers
  if (!first) return null
  return {
    challengeId: first.challengeId ?? null,
    challenges: offers.flatMap(({ challenge }) => challenge ?? []),
    headers: Object.assign({}, ...offers.map(({ more }) => more)),
    body: Object.assign({}, ...offers.map(({ body }) => body)),
  }
}

/** A credential as received: of the `Payment` scheme, or x402's `PAYMENT-SIGNATURE` or `X-PAYMENT` (version 1). */
export interface ShownPayment {
  readonly scheme: 'payment' | 'x402'
  readonly text: string
}

/** Identifies a payment on its network. */
export interface SettlementHandle {
  readonly transaction: string
  /** After this time (ms) an unsettled payment can no longer settle. Null when the credential does not expire. */
  readonly validBefore: number | null
  /** The network's id when the payment was first counted as paid. It stays paid no matter who submitted it. */
  readonly reference?: string | null
}

/** A parsed credential. Nothing in it is verified yet. */
export interface ReadCredential {
  /** Each key gets one claim, forever: the challenge id, or an id that the network itself accepts only once. */
  readonly claimKey: string
  /** SHA-256 of the credential's text. */
  readonly hash: string
  /** The binding that the credential claims. */
  readonly binding: Binding | null
  readonly handle: SettlementHandle
  /** The credential in the payment method's own format. */
  readonly credential: unknown
}

export interface ValidPayment {
  /** Recovered from the signature, never taken from what the credential claims. */
  readonly payer: string
}

/**
 * `settled`: the money moved. `refused`: it did not, and with this credential it never will. `unknown`: the network did not say;
 * ask it with `lookUp`. `isOurs`: the cause is not the payer's fault, such as an unreachable node or a paused token, so the failure
 * does not count against the payer.
 */
export type SettleOutcome =
  | { readonly kind: 'settled'; readonly reference: string }
  | { readonly kind: 'refused'; readonly reason: string; readonly isOurs?: boolean }
  | { readonly kind: 'unknown'; readonly reason: string; readonly isOurs?: boolean }

/**
 * The outcome of a payment. `open`: it may still settle, or the network does not answer. `isFinal` is false while the network
 * could still revert it.
 */
export type PaymentFate =
  | { readonly kind: 'settled'; readonly reference: string; readonly isFinal?: boolean }
  | { readonly kind: 'never' }
  | { readonly kind: 'open' }

/** A transfer of the token to the recipient, as its network has it. */
export interface Transfer {
  /** The transaction. */
  readonly reference: string
  readonly payer: string
  /** In the token's smallest unit. */
  readonly units: bigint
  /** Null if the node does not say. */
  readonly at: number | null
}

/** The receipts of a recipient. Methods that share a recipient share its `network`. */
export interface ReceivedTransfers {
  /** Identifies chain, token and recipient. */
  readonly network: string
  /** From `from` to before `to` (ms). Null if there are too many to compare at once. Throws when the node does not answer. */
  between(from: number, to: number): Promise<readonly Transfer[] | null>
}

/**
 * A way to pay. Only `settle` moves money. It is safe to repeat, because the network accepts each credential once. An unreachable
 * network is a return value, not an exception.
 */
export interface PaymentMethod {
  readonly name: string
  /** Address of the token's contract. */
  readonly currency: string
  /** For the documentation: another protocol that accepts the same offer, and how. */
  readonly alsoBy?: string
  /** The smallest amount that can be paid this way. Any amount if absent. */
  readonly minAmount?: Money
  /** Takes any amount up to the signed one: for prices that follow from the answer, and only for those. Others need a fixed price. */
  readonly isUpTo?: true
  /** Converts an amount to the token's smallest unit. */
  units(amount: Money): bigint
  /** Null while this way to pay is unavailable: the network is down, or settling costs too much. */
  offer(terms: Terms): Promise<Offer | null>
  /** Parses a credential. Null when it belongs to another method. */
  read(shown: ShownPayment): Promise<Result<ReadCredential, PaymentRefusal> | null>
  /** Checks a credential against the terms, its signature and the network. Changes nothing. */
  validate(read: ReadCredential, terms: Terms): Promise<Result<ValidPayment, PaymentRefusal>>
  /** `amount`: the price, the same on every call for one credential; by default what was signed. Only an `isUpTo` method takes less. */
  settle(read: ReadCredential, amount?: Money): Promise<SettleOutcome>
  lookUp(handle: SettlementHandle): Promise<PaymentFate>
  /** The receipt for clients of another protocol: header name to value. */
  receiptHeaders?(read: ReadCredential, receipt: Receipt, amount: Money): Readonly<Record<string, string>>
  /** The relayer's coins for gas, in whole coins, when it was last read; null before. Absent without a relayer. */
  fuel?(): number | null
  /** The receipts of its recipient. Absent where the network has no record of it. */
  readonly received?: ReceivedTransfers
  /** The payer's balance in the token's smallest unit. Null when the network does not answer. */
  balance(payer: string): Promise<bigint | null>
}
