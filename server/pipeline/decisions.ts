import type { Failure } from '../core/failure'
import type { IdempotencyRecord } from '../core/idempotency/idempotency-record'
import type { Readings } from '../core/limits/limiter'
import type { Money } from '../core/money'
import type { Result } from '../core/result'
import type { CallRecord } from '../core/usage/call-record'
import type { AuthenticatedCall, IncomingCall, RefusedOutcome, Verdict } from './call'
import type { Drain } from './drains'
import type { Captured, Work } from './work'

/**
 * What a call asks of keys, limits, money and the log: decided in one place, by the process that owns the data. Where that is this process, each
 * answer is there in the same turn; a caller takes a promise as well.
 */
export interface Decisions {
  /**
   * The first half of every gated call (spec D2): credential, key state, address, permission and rate limit. Counts the request; the window of an
   * address for a caller without an account.
   */
  authenticate(incoming: IncomingCall): Verdict | Promise<Verdict>
  /** Begins a call, and takes a concurrency slot for it if its route does (spec D9). Takes nothing if the limit refuses it. */
  begin(call: AuthenticatedCall): Result<Allowance, RefusedOutcome> | Promise<Result<Allowance, RefusedOutcome>>
  /** A call has ended, and may never have begun: gives back what it took when it was authenticated. Null if there is nothing to wait for. */
  leave(call: AuthenticatedCall): Promise<void> | null
  /** The caller's spendable money now, with signup credit only if `creditPays`; null without an account. */
  spendable(call: Pick<AuthenticatedCall, 'caller'>, creditPays: boolean): Promise<Money | null>
}

/** What one call has taken: a slot, tokens, a place among calls without a caller, and money. All of it ends with one capture or release. */
export interface Allowance {
  readonly takesSlot: boolean
  /** Signup credit pays, which buys only some of the sources. */
  readonly isCredit: boolean
  /** Counts the call while it goes on without its caller; null for work without a load. */
  readonly drain: Pick<Drain, 'begin' | 'at'> | null
  /** Nothing more may go to the caller, because the process that decides has given the call up, or soon does. Ask before each write. */
  readonly isLost: boolean
  /** Something else to give back with the slot. */
  with(release: () => void): void
  /**
   * Takes in one step what the work needs of the limits, and holds its maximum price: no other call comes between the checks and the takes. A
   * refusal holds nothing and gives the slot back. `hangUp`: null if `drain` is told of it. Once per call, and again after a refusal that
   * `isStale`.
   */
  hold(work: Wanted, hangUp: AbortSignal | null): RefusedOutcome | null | Promise<RefusedOutcome | null>
  /** The windows of the caller now, with those of the work that it holds for; undefined without a slot. */
  readings(): Readings | undefined
  /**
   * Makes the hold survive the process that decides: its next start charges `call`. Repeatable; the newest counts. False: not durable.
   */
  keep(call: CallRecord): Promise<boolean>
  /**
   * Charges at most what was held, once; a repeat with the same amount has the same result. Durable when it resolves to a success; otherwise
   * nothing is charged.
   */
  capture(capture: Capture): Promise<Result<Captured, Failure>>
  /** Gives back what is left of it all. `tokens`: the real number. Idempotent. Null if there is nothing to wait for. */
  release(tokens: number): Promise<void> | null
}

/** What decides about a hold. */
export type Wanted = Pick<
  Work,
  'operation' | 'model' | 'quote' | 'credit' | 'needsTopUp' | 'load' | 'timeoutMs' | 'fingerprint'
>

export interface Capture {
  readonly amount: Money
  readonly record: CallRecord
  /** The call's cost above its hold, which the gateway absorbs. */
  readonly overrun: Money
  /** The tokens that it used, which replace those that it reserved. */
  readonly tokens: number
  /** The answer under its `Idempotency-Key`, stored in the same commit. */
  readonly answer?: IdempotencyRecord | undefined
}
