import type { EntryKind } from '../ledger/entry'
import type { EndedCall } from './ended-call'
import type { UpstreamFault } from './failure-streak'
import type { Tracer } from './trace'

/**
 * The step that a payment for one request or a top-up has reached. `offered`: a 402 with challenges was sent. `verified`: a credential is valid and
 * claimed. `refused`: it is not. `settled`: the money moved. `failed`: the network refused it. `unknown`: the network did not say.
 */
export const PAYMENT_STEPS = ['offered', 'verified', 'refused', 'settled', 'failed', 'unknown'] as const
export type PaymentStep = (typeof PAYMENT_STEPS)[number]

/** Observes calls for the operator: metrics, log and traces. Its methods return at once and never throw. */
export interface Telemetry {
  /** Called once per call, at its end; for a stream, when its body has ended. */
  callEnded(call: EndedCall): void
  /**
   * One request to an upstream ended: with an answer, or with a failure of this kind. `fault`: the failure is the upstream's own. `part`:
   * the part of the upstream that fails by itself, such as a model.
   */
  upstreamEnded(upstream: string, ms: number, failure: string | null, fault: UpstreamFault | null, part?: string): void
  payment(step: PaymentStep): void
  /** Null while traces are off. */
  readonly tracer: Tracer | null
}

export const NO_TELEMETRY: Telemetry = {
  callEnded: () => undefined,
  upstreamEnded: () => undefined,
  payment: () => undefined,
  tracer: null,
}

/** The sum of all ledger entries by kind, in micro-USD. They only grow. */
export type BookSums = Readonly<Partial<Record<EntryKind, number>>>

/** How far the tables and the disk are behind the calls. */
/** The last comparisons of the books. */
export interface BooksReading {
  /** When the newest ended that reached all that was to be compared; null before the first. */
  readonly completeAt: number | null
  /** How many things did not agree in the newest of all. */
  readonly problems: number
}

export interface JournalState {
  /** Records that wait for their commit. */
  readonly waiting: number
  /** How long the oldest of them has waited. */
  readonly waitingMs: number
  /** Writes that wait for the connection of the tables. */
  readonly queuedWrites: number
  /** Bytes of the log that are not in the tables yet. */
  readonly unappliedBytes: number
  /** How long the oldest of them has waited. */
  readonly unappliedMs: number
  /** Whether the tables reject writes now. */
  readonly isBehind: boolean
  /** Whether the reserve of the disk was given up, so that new calls are refused. */
  readonly isDiskFull: boolean
  /** How long a group has waited for the log's second place. */
  readonly copyWaitingMs: number
  /** Whether this process is sure of its lease there, or needs none. */
  readonly hasLease: boolean
  /** Rows of uncharged calls that were dropped. */
  readonly droppedNotes: number
}
