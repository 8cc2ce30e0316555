import type { Account } from '../core/accounts/account'
import type { AppGrant } from '../core/accounts/app-grant'
import type { SoldName } from '../core/catalogue/operation'
import { type Address, limitSubject } from '../core/credentials/address'
import type { ApiKey } from '../core/credentials/api-key'
import type { Audience, Scope } from '../core/credentials/oauth-grant'
import type { Failure } from '../core/failure'
import type { CredentialId, KeyId, PoolId, RequestId } from '../core/ids'
import type { Readings, Subject } from '../core/limits/limiter'
import type { Money } from '../core/money'
import type { ShownPayment } from '../core/payments/method'
import type { GivenReceipt } from '../core/payments/receipt'
import type { CallOrigin } from '../core/providers/provider'
import type { Quote } from './quote'

/** The credential that a caller sent, not verified yet. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'api_key'; readonly secret: string }
  /** A key whose owner is signed in and lets this one call go by it, without showing its secret. */
  | { readonly kind: 'own_key'; readonly id: KeyId }
  /** A payment for this one request (spec 5.3). */
  | { readonly kind: 'payment'; readonly shown: ShownPayment }
  /** An app's access token, shown at an address of this audience. */
  | { readonly kind: 'oauth_token'; readonly token: string; readonly audience: Audience }

/** Where a call goes, as far as `authenticate` must know. `scope`: what an owner must have allowed an app that calls it. */
export type Route =
  | {
      readonly kind: 'priced'
      readonly operation: SoldName
      readonly scope: Scope
      /** Whoever has no key may pay for the one request (spec 5.3); else a key is needed. */
      readonly payable?: true
      /** A further window beside the key's (spec 8): its name, and its requests per minute. */
      readonly window?: { readonly name: string; readonly rpm: number }
    }
  /** A free route that needs a key, by the name that it has in the log; the wallet's also lets a payment in without one. */
  | { readonly kind: 'free'; readonly name: string; readonly scope: Scope | 'any'; readonly takesPayment?: true }
  /**
   * A route for anybody, at the pace of its address. `paymentInBody`: what pays may stand in the body, so that whoever shows nothing is
   * counted only once that was read (`Gate.count`).
   */
  | { readonly kind: 'public'; readonly paymentInBody?: true }
  /** No such route, or a wrong method: the window is read, nothing is taken. */
  | { readonly kind: 'unmatched'; readonly failure: Failure }

/** A call that is not authenticated yet. */
export interface IncomingCall {
  readonly id: RequestId
  /** The caller's own `X-Request-ID`, when it sent a good one. */
  readonly clientRequestId: string | null
  readonly at: number
  readonly credential: Credential
  readonly address: Address
  /** As it came. */
  readonly request: { readonly method: string; readonly url: string }
  readonly route: Route
}

/** Who calls: the holder of a key, an app that an owner let in, or nobody known. */
export type Caller =
  | { readonly kind: 'key'; readonly key: ApiKey; readonly account: Account }
  | AppCaller
  | { readonly kind: 'anonymous' }

export interface AppCaller {
  readonly kind: 'app'
  readonly grant: AppGrant
  readonly scopes: ReadonlySet<Scope>
  readonly account: Account
}

/** A caller whose account is known: what it spends comes off the account's balance. */
export type KnownCaller = Exclude<Caller, { kind: 'anonymous' }>

/** What the calls of a known caller are limited, counted and logged under. */
export function countedOn(caller: KnownCaller): { readonly id: CredentialId; readonly poolId: PoolId } {
  return caller.kind === 'key' ? caller.key : caller.grant
}

/** What is known of the caller behind a credential. */
export interface Identified {
  readonly caller: Caller
  readonly subjects: readonly Subject[]
  /** Why the credential is none, once the address's window let the question through. */
  readonly refused: Failure | null
}

/** A call that `authenticate` let in. */
export interface AuthenticatedCall {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly subjects: readonly Subject[]
  readonly readings: Readings
}

/** Whose turn a call is, where callers are served in turn: its account's; without one, that of what its address is limited by. */
export function originOf({
  caller,
  incoming,
}: {
  readonly caller: Caller
  readonly incoming: Pick<IncomingCall, 'address'>
}): CallOrigin {
  const isKnown = caller.kind !== 'anonymous'
  return { caller: isKnown ? `account ${caller.account.id}` : `address ${limitSubject(incoming.address)}` }
}

/** A call that `authenticate` refused. `caller` is set when the key was known, for the log. */
export interface Refused {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly failure: Failure
  readonly readings: Readings
}

/** What a caller may ask of one call beside its input (spec-answers 5). */
export interface CallOptions {
  /** `X-Max-Price-USD`: refuse, before anything runs, when it would cost more. */
  readonly maxPrice: Money | null
  /** `X-Cost-Mode: quote`: say what it would cost; run and charge nothing. */
  readonly quote: boolean
  /** `Idempotency-Key`: answer a repeat as the first one, without a second charge. Ignored without an account. */
  readonly idempotencyKey: string | null
}

/** A priced call that was authenticated, before its body is read. */
export interface PaidCall {
  readonly authenticated: AuthenticatedCall
  readonly options: CallOptions
  /** Aborts when the caller hangs up. It counts until the upstream is asked; of a local one, to its end. */
  readonly hangUp: AbortSignal
  /** Takes one of the caller's places for its whole life, before anything of its body is read (spec-answers 9). */
  readonly takesPlace: boolean
}

export type AnswerHeaders = Readonly<Record<string, string>>

/** What a call would cost, which was not run; and what the caller could spend now. */
export interface Quoted {
  readonly kind: 'quoted'
  readonly quote: Quote
  readonly balance: Money | null
}

/** Why a priced call was not served. */
export interface RefusedOutcome {
  readonly kind: 'refused'
  readonly failure: Failure
  /** The windows, where they changed since `authenticate` read them. */
  readonly readings?: Readings | undefined
  /** It was charged all the same, to a caller who had left: its row is written. */
  readonly isCharged?: true
}

/** How a priced call ended. */
export type Outcome =
  | {
      readonly kind: 'served'
      readonly body: string | Uint8Array<ArrayBuffer>
      readonly headers: AnswerHeaders
      readonly cost: Money
      /** Of a call that was paid for by itself. */
      readonly receipt: GivenReceipt | null
      readonly readings?: Readings | undefined
    }
  /** Its cost is not known yet: it is charged, and its row written, when its body ends. */
  | {
      readonly kind: 'streaming'
      readonly body: ReadableStream<Uint8Array>
      readonly headers: AnswerHeaders
      readonly readings?: Readings | undefined
    }
  /** Answered as the first time under its `Idempotency-Key`, and not charged again. */
  | { readonly kind: 'repeated'; readonly body: string; readonly headers: AnswerHeaders }
  | Quoted
  | RefusedOutcome
