import type { SoldName } from '../core/catalogue/operation'
import type { Failure } from '../core/failure'
import type { Subject, Ticket } from '../core/limits/limiter'
import type { Model } from '../core/models/model'
import type { Money } from '../core/money'
import type { GivenReceipt } from '../core/payments/receipt'
import type { Result } from '../core/result'
import type { Charged, TokenCounts, UsageSource } from '../core/usage/call-record'
import type { AnswerHeaders, AuthenticatedCall } from './call'
import type { Drain } from './drains'
import type { Ending } from './idempotency/idempotency'
import type { Quote } from './quote'

/** What of a source signup credit may buy. */
export type CreditUse = 'all' | 'part' | 'nothing'

/** How a call came to its end, as the log has it beside a status of 200. */
export type EndCode = null | 'caller_hung_up' | 'stream_cut' | 'gateway_restarted' | 'gateway_shutdown'

/**
 * What is sold by one paid call: all in which a search, a model, a research job and a social action differ. `runPaidCall` does
 * the rest, the same for each.
 */
export interface Work {
  readonly operation: SoldName
  /** The model that it is of, for its rows. */
  readonly model?: string
  readonly quote: Quote
  /** `write`: it changes something outside, so what became of it is unknown when no answer came. */
  readonly effect: 'read' | 'write'
  /** Its answer is a stream: settled at its end, so its hold is durable before its first byte, and its key is reserved like a write's. */
  readonly streams: boolean
  /** The longest that its upstream may take, where this work does not bound it itself. */
  readonly timeoutMs: number
  readonly credit: CreditUse
  /** The name of what needs a first top-up before anybody may buy it. */
  readonly needsTopUp?: string
  /** Equal for two tries of one request only (`fingerprintOf`). */
  readonly fingerprint: () => string
  /** Headers of each success. */
  readonly headers?: AnswerHeaders
  /** What it needs of the caller's limits beside a place. */
  readonly load?: Load
  /** Adds to a refusal for money what would help its caller. */
  readonly explainRefusal?: (problem: Failure) => Promise<Failure>
  /** Asks the upstream. Its money is held, and its caller may have hung up: from here on that changes nothing (ADR 18). */
  run(open: OpenCall): Promise<WorkResult>
}

/**
 * Reads and validates the input of a call, in its place if it takes one. What is wrong costs nothing.
 */
export type PrepareWork = (place: Ticket | null) => Result<Work, Failure> | Promise<Result<Work, Failure>>

/** What a call needs of its caller's limits beside its place. */
export interface Load extends Pick<Model, 'upstreams'> {
  /** The windows that its tokens come off. */
  readonly subjects: readonly Subject[]
  /** A window of its own that counts its requests, which is among `subjects`. */
  readonly window: Subject | null
  /** Its likely tokens, corrected to the real count at its end. */
  readonly tokens: number
}

/** What a call is charged, and what its row says of it. */
export interface Charge {
  readonly charged: Charged
  readonly code?: EndCode
  readonly tokens?: TokenCounts
  readonly usageSource?: UsageSource
  /** What it cost above its hold; the house bears it. */
  readonly overrun?: Money
}

/** How a work ended, or how it goes on. */
export type WorkResult =
  /** The whole answer: sent once its charge is durable. */
  | {
      readonly kind: 'answer'
      readonly body: string | Uint8Array<ArrayBuffer>
      readonly charge: Charge
      readonly headers?: AnswerHeaders
      /** How long ago it was made, where it was kept from an earlier call. */
      readonly ageSeconds?: number
    }
  /** It settles itself when its body ends, by the call that `open` is given; `close` when it is not opened. */
  | {
      readonly kind: 'stream'
      readonly headers: AnswerHeaders
      /** What a start would charge, if this process died with the stream. */
      readonly lost: Charge
      open(): ReadableStream<Uint8Array>
      close(): void
    }
  | {
      readonly kind: 'failed'
      readonly failure: Failure
      /** It is certain that nothing was done outside: the same may be asked again. */
      readonly didNothing: boolean
      /** What is charged all the same: the caller had left, and the upstream was paid. */
      readonly owed?: Charge
    }

/** What was charged. */
export interface Captured {
  readonly cost: Money
  /** Of a call that was paid for by itself. */
  readonly receipt: GivenReceipt | null
}

/** What is kept for a repeat under the same `Idempotency-Key`: the answer, or that it broke off. */
export type Kept = { readonly body: string | Uint8Array; readonly headers: AnswerHeaders } | 'cut'

/**
 * A call whose money is held, as its work sees it. It is charged at most once, and then closed: by `runPaidCall` when there is an
 * answer or none, by a stream when its body ends.
 */
export interface OpenCall {
  readonly authenticated: AuthenticatedCall
  /** Aborts when the caller hangs up. */
  readonly hangUp: AbortSignal
  /** Aborts when this process ends and waits for the call no longer. Never for calls without a place: they are short. */
  readonly shutdown: AbortSignal
  /** Where the call is counted once its caller is gone; null for what has no load. */
  readonly drain: Drain | null
  /** Whether its answer is kept for a repeat. */
  readonly hasKey: boolean
  /** Signup credit pays, which may buy a part of the source only. */
  readonly isCredit: boolean
  /** The longest that the upstream may take. */
  readonly timeoutMs: number
  /**
   * Makes the hold outlive this process: a start that finds it charges `charge`. Again with a newer one says how far the stream
   * has come. False: not durable.
   */
  persist(charge: Charge): Promise<boolean>
  /** Charges, durably when it resolves to a success, and gives back what was taken. Nothing is charged otherwise. */
  charge(charge: Charge, kept: Kept): Promise<Result<Captured, Failure>>
  /** Writes the row of a call that failed behind the headers of its stream. It is not charged. */
  note(status: number, code: string): void
  /** Ends the hold, if it was not captured, and the place. Free to repeat. */
  giveBack(): Promise<void>
  /** Ends the call: what it did not charge is given back, and whoever waits for its key, or for this process to end, goes on. */
  close(end: Ending): Promise<void>
}
