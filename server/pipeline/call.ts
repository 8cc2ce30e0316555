import type { Account } from '../core/accounts/account'
import type { AppGrant } from '../core/accounts/app-grant'
import type { Role } from '../core/accounts/roles'
import type { ApiMatch } from '../core/apis/api-routes'
import type { Operation, SoldName } from '../core/catalog/operation'
import { type Address, limitSubject } from '../core/credentials/address'
import type { ApiKey } from '../core/credentials/api-key'
import type { Audience, Scope } from '../core/credentials/oauth-grant'
import type { Failure } from '../core/failure'
import type { SentAnswer } from '../core/idempotency/idempotency-record'
import type { CredentialId, KeyId, PoolId, RequestId } from '../core/ids'
import type { Readings, Subject } from '../core/limits/limiter'
import type { Tier } from '../core/limits/tier'
import type { Money } from '../core/money'
import type { ShownPayment } from '../core/payments/method'
import type { DeliveredReceipt } from '../core/payments/receipt'
import type { CallOrigin } from '../core/providers/provider'
import type { CallTrace } from '../core/telemetry/trace'
import type { UpstreamUse } from '../core/usage/call-record'

/** The credential that a caller sent, not verified yet, and without its secret: a key and a token are their hashes. */
export type Credential =
  | { readonly kind: 'none' }
  /** `hash`: null for a text that cannot be a key; `problem` says why. */
  | { readonly kind: 'api_key'; readonly hash: string | null; readonly problem: string | null }
  /** A key that its signed-in owner chose for this one call, without sending its secret. */
  | { readonly kind: 'own_key'; readonly id: KeyId }
  /** A payment for this one request (spec 5.3). */
  | { readonly kind: 'payment'; readonly shown: ShownPayment }
  /** An app's access token, sent to a URL of this audience. */
  | { readonly kind: 'oauth_token'; readonly hash: string; readonly audience: Audience }

/** What `authenticate` must know of the route. `scope`: the scope that an app needs to call it. */
export type Route =
  | {
      readonly kind: 'priced'
      readonly operation: SoldName
      /** Set for an imported operation: what the call matched, kept to its end. */
      readonly match?: ApiMatch
      readonly scope: Scope
      /** A second scope that an app needs as well: deep research uses models and searches. */
      readonly alsoScope?: Scope
      /** Its path in the documentation. Absent for an imported operation. */
      readonly template?: string
      /** A caller without a key may pay for the one request (spec 5.3). Otherwise a key is required. */
      readonly payable?: true
      /** Each of its calls takes one of the caller's concurrency slots until it ends, before any of its body is read (spec D9). */
      readonly takesSlot?: true
      /** The route's own window in addition to the key's (spec 8): its name and its requests per minute. */
      readonly window?: { readonly name: string; readonly rpm: number }
    }
  /** A free route that needs a key, with its name in the log. The wallet route also accepts a payment without a key. */
  | {
      readonly kind: 'free'
      readonly name: string
      readonly scope: Scope | 'any'
      readonly template?: string
      readonly takesPayment?: true
      /** Units that it takes of its account's window for free work, by the URL of the call; absent: none. */
      readonly units?: (url: string) => number
    }
  /**
   * A route for everybody, limited per address. `paymentInBody`: the body may contain a payment, so a caller without a credential
   * is counted only once the body was read (`Gate.count`).
   */
  | { readonly kind: 'public'; readonly paymentInBody?: true }
  /** No such route, or the wrong method. The window is read and nothing is counted. */
  | { readonly kind: 'unmatched'; readonly failure: Failure }

export type PricedRoute = Extract<Route, { kind: 'priced' }>

/** The route of a catalog operation, which determines the scope and whether anonymous callers may pay. */
export function operationRoute({ name, scope, payable, takesConcurrency }: Operation): PricedRoute {
  const slot = takesConcurrency && ({ takesSlot: true } as const)
  return { kind: 'priced', operation: name, scope, ...(payable && { payable }), ...slot }
}

export function takesSlot(route: Route): boolean {
  return route.kind === 'priced' && route.takesSlot === true
}

/** A call that is not authenticated yet. */
export interface IncomingCall {
  readonly id: RequestId
  /** The caller's own `X-Request-ID`, if it sent a valid one. */
  readonly clientRequestId: string | null
  readonly at: number
  readonly credential: Credential
  readonly address: Address
  /** Exactly as received. */
  readonly request: { readonly method: string; readonly url: string }
  readonly route: Route
  /** The budget scope that the caller names for the call, once its options are read; null for none. */
  budgetScope: string | null
  /** Null if the call is not traced. */
  readonly trace: CallTrace | null
}

export type Caller =
  | { readonly kind: 'key'; readonly key: ApiKey; readonly account: Account; readonly tier: Tier }
  | AppCaller
  | { readonly kind: 'anonymous' }

export interface AppCaller {
  readonly kind: 'app'
  readonly grant: AppGrant
  readonly scopes: ReadonlySet<Scope>
  readonly account: Account
  readonly tier: Tier
  /** The role of the member who let it in. */
  readonly role: Role
}

/** A caller whose account is known. Its spending is charged to the account's balance. */
export type KnownCaller = Exclude<Caller, { kind: 'anonymous' }>

/** A caller as one who asks for models; null for strangers. */
export function buyerOf({ caller }: Pick<AuthenticatedCall, 'caller'>): KnownCaller | null {
  return caller.kind === 'anonymous' ? null : caller
}

/** The ids under which the calls of a known caller are limited, counted and logged. */
export function countedOn(caller: KnownCaller): { readonly id: CredentialId; readonly poolId: PoolId } {
  return caller.kind === 'key' ? caller.key : caller.grant
}

export interface Identified {
  readonly caller: Caller
  readonly subjects: readonly Subject[]
  /** Why the credential is not valid. Reported only if the address's window has room. */
  readonly refused: Failure | null
}

/** A call that `authenticate` accepted. */
export interface AuthenticatedCall {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly subjects: readonly Subject[]
  readonly readings: Readings
}

/** The subject of a call where callers are served in turn: its account, or without one the subject that limits its address. */
export function originOf({
  caller,
  incoming,
}: {
  readonly caller: Caller
  readonly incoming: Pick<IncomingCall, 'address' | 'trace'>
}): CallOrigin {
  const isKnown = caller.kind !== 'anonymous'
  return {
    caller: isKnown ? `account ${caller.account.id}` : `address ${limitSubject(incoming.address)}`,
    traceparent: incoming.trace?.handedOn ?? null,
  }
}

/** A call that `authenticate` refused. `caller` names the key or app, if it was known, for the log. */
export interface Refused {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly failure: Failure
  readonly readings: Readings
}

export type Verdict = AuthenticatedCall | Refused

/** Options that a caller may set for one call in addition to its input (spec D5). */
export interface CallOptions {
  /** `X-Max-Price-USD`: refuse the call, before anything runs, if it could cost more. */
  readonly maxPrice: Money | null
  /** `X-Cost-Mode: quote`: return the price; run and charge nothing. */
  readonly quote: boolean
  /** `Idempotency-Key`: return the first response to a repeat, without a second charge. Ignored without an account. */
  readonly idempotencyKey: string | null
  /** `X-Budget-Scope`: with which other calls of the key it is counted. */
  readonly budgetScope: string | null
}

/** A priced call that was authenticated, before its body is read. */
export interface PaidCall {
  readonly authenticated: AuthenticatedCall
  readonly options: CallOptions
  /** Aborts when the caller hangs up. Has an effect until the upstream is called; for a local upstream, until it answers. */
  readonly hangUp: AbortSignal
}

export type AnswerHeaders = Readonly<Record<string, string>>

/** The price of a call, without running it, and the caller's spendable money now. */
export interface Quoted {
  readonly kind: 'quoted'
  readonly quote: Quote
  readonly balance: Money | null
}

export interface RefusedOutcome {
  readonly kind: 'refused'
  readonly failure: Failure
  /** The windows, if they changed since `authenticate` read them. */
  readonly readings?: Readings | undefined
  /** The quote is not at the prices of now. Nothing was taken or given back: quote again, and hold once more. */
  readonly isStale?: true
  /** The call was charged all the same, because its caller had hung up. Its usage row is written. */
  readonly isCharged?: true
  readonly upstream?: UpstreamUse | undefined
  /** The hold, which was released. */
  readonly held?: Money | undefined
}

/** The outcome of a call that was refused for this reason. `readings`: the windows, if they changed. */
export function refusedOutcome(problem: Failure, readings?: Readings): RefusedOutcome {
  return { kind: 'refused', failure: problem, readings }
}

export type Outcome =
  | {
      readonly kind: 'served'
      /** 200 if absent. */
      readonly status?: number | undefined
      readonly body: string | Uint8Array<ArrayBuffer>
      readonly headers: AnswerHeaders
      readonly cost: Money
      /** The receipt of a call that had a payment of its own. */
      readonly receipt: DeliveredReceipt | null
      readonly readings?: Readings | undefined
    }
  /** The cost is not known yet: the call is charged, and its usage row written, when its body ends. */
  | {
      readonly kind: 'streaming'
      /** 200 if absent. */
      readonly status?: number | undefined
      readonly body: ReadableStream<Uint8Array>
      readonly headers: AnswerHeaders
      readonly readings?: Readings | undefined
    }
  /** The first response under this `Idempotency-Key`, returned again without another charge. */
  | ({ readonly kind: 'repeated' } & SentAnswer)
  | Quoted
  | RefusedOutcome

/** The price of one call: `maxCost` is held before the upstream is called, and an answer is charged its real cost, never more. */
export interface Quote {
  readonly maxCost: Money
  /** The catalog version, or the id of the operator's price. */
  readonly version: string
  /** The minimum of a success, if it can be paid for by a payment of its own although its price follows from the answer. */
  readonly minCost?: Money
  /** Whether every success costs exactly `maxCost`. */
  readonly fixed: boolean
}
