import type { SoldName } from '../core/catalog/operation'
import type { Failure } from '../core/failure'
import type { Subject } from '../core/limits/limiter'
import type { Model } from '../core/models/model'
import type { Money } from '../core/money'
import type { DeliveredReceipt } from '../core/payments/receipt'
import type { Result } from '../core/result'
import type { Charged, EndCode, TokenCounts, UsageSource } from '../core/usage/call-record'
import type { AnswerHeaders, AuthenticatedCall, Quote } from './call'
import type { Drain } from './drains'
import type { Ending } from './idempotency/idempotency'

/** Which sources signup credit may buy. */
export type CreditUse = 'all' | 'part' | 'nothing'

/**
 * One paid call: everything in which a search, a model call, a research job and a social action differ. `runPaidCall`
 * does the rest, the same for all of them.
 */
export interface Work {
  readonly operation: SoldName
  /** The model, for the usage row. */
  readonly model?: string
  readonly quote: Quote
  /** `write`: it changes something outside, so its outcome is unknown if no answer arrived. */
  readonly effect: 'read' | 'write'
  /** A streamed answer is settled at its end, so its hold is durable before the first byte, and its key is reserved like a write's. */
  readonly streams: boolean
  /** The upstream's time limit, if the work does not limit it itself. */
  readonly timeoutMs: number
  readonly credit: CreditUse
  /** Set if the account must have topped up before: the name of what requires it. */
  readonly needsTopUp?: string | undefined
  /** Equal only for attempts of the same request (`fingerprintOf`). */
  fingerprint(): string
  /** Headers of a success. */
  readonly headers?: AnswerHeaders
  /** Its needs of the caller's limits besides a slot. */
  readonly load?: Load
  /** Adds a hint to a refusal for lack of money. */
  explainRefusal?(problem: Failure): Promise<Failure>
  /** The same call at the prices of now, or why it cannot be sold any more. Absent if its price cannot change before it is held. */
  requote?(): Result<Work, Failure>
  /** Calls the upstream. The money is held; from here on a hang-up changes nothing (ADR 18). */
  run(open: OpenCall): Promise<WorkResult>
}

/** The tokens and windows that a call needs besides its slot. */
export interface Load extends Pick<Model, 'upstreams'> {
  /** The windows that its tokens count in. */
  readonly subjects: readonly Subject[]
  /** The window, one of `subjects`, that counts its requests separately. */
  readonly window: Subject | null
  /** Its likely tokens, replaced by the real count at its end. */
  readonly tokens: number
}

/** The charge of a call, and the details for its usage row. */
export interface Charge {
  readonly charged: Charged
  readonly code?: EndCode | null
  readonly tokens?: TokenCounts
  readonly usageSource?: UsageSource
  /** Its cost above the hold, which the gateway absorbs. */
  readonly overrun?: Money
  /** Its upstream cost to the operator; absent if not known. */
  readonly upstreamCost?: Money | undefined
}

export type WorkResult =
  /** The whole answer, sent once its charge is durable. */
  | {
      readonly kind: 'answer'
      readonly body: string | Uint8Array<ArrayBuffer>
      readonly charge: Charge
      /** The HTTP status of the answer; 200 if absent. */
      readonly status?: number | undefined
      readonly headers?: AnswerHeaders
      /** The age of an answer from the cache. */
      readonly ageSeconds?: number
      /** Runs once its charge is durable, before it is sent. Never throws. */
      readonly onCharged?: () => Promise<void>
    }
  /** A stream that settles itself when its body ends. `close` must be called if it is not opened. */
  | {
      readonly kind: 'stream'
      /** 200 if absent. */
      readonly status?: number | undefined
      readonly headers: AnswerHeaders
      /** The charge that the next start applies if this process dies with the stream. */
      readonly lost: Charge
      open(): ReadableStream<Uint8Array>
      close(): void
    }
  | {
      readonly kind: 'failed'
      readonly failure: Failure
      /** The upstream certainly did nothing, so a retry is safe. */
      readonly didNothing: boolean
      /** A charge despite the failure: the caller had hung up, and the upstream was paid. */
      readonly owed?: Charge
    }

export interface Captured {
  readonly cost: Money
  /** The receipt of a call that had a payment of its own. */
  readonly receipt: DeliveredReceipt | null
}

/** The stored result for a repeat with the same `Idempotency-Key`: the answer, or a mark that it broke off. */
export type StoredAnswer =
  | { readonly body: string | Uint8Array; readonly headers: AnswerHeaders; readonly status?: number | undefined }
  | 'cut'

/**
 * A call whose money is held, as its work sees it. It is charged at most once and then closed: by a stream when its body ends,
 * otherwise by `runPaidCall`.
 */
export interface OpenCall {
  readonly authenticated: AuthenticatedCall
  readonly hangUp: AbortSignal
  /** Aborts when the process shuts down and no longer waits for the call. Never aborts for calls without a slot, which are short. */
  readonly shutdown: AbortSignal
  /** Counts the call after its caller hung up; null for work without a load. */
  readonly drain: Pick<Drain, 'begin' | 'at'> | null
  /** Whether its answer is stored for a repeat. */
  readonly hasKey: boolean
  /** Signup credit pays, which buys only some of the sources. */
  readonly isCredit: boolean
  readonly timeoutMs: number
  /** Nothing more may go to its caller: the process that decides has given it up, or soon does. */
  readonly isLost: boolean
  /**
   * Makes the hold survive this process: the next start charges `charge`. Call it again with a newer charge as the stream goes on.
   * False: not durable.
   */
  persist(charge: Charge): Promise<boolean>
  /** Charges and gives back what was taken. The charge is durable when it resolves to a success; otherwise nothing is charged. */
  charge(charge: Charge, stored: StoredAnswer): Promise<Result<Captured, Failure>>
  /** Says which provider is asked, for the usage row; the last one counts. The time of the upstream begins with the first. */
  asked(provider: string): void
  /** Writes the usage row of a call that failed after the headers of its stream. It is not charged. */
  note(code: string, message: string): void
  /** Releases the hold, if it was not captured, and the slot. May be called repeatedly. Null if there is nothing to wait for. */
  giveBack(): Promise<void> | null
  /** Ends the call: releases what was not charged, and wakes repeats that wait for its key and a shutdown that waits for it. Null as above. */
  close(end: Ending): Promise<void> | null
}
