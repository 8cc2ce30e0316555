import type { EndedCall } from './ended-call'

/** The steps of a call in order. A call has those that it came to. */
export type TraceStep = 'authenticate' | 'read' | 'admit' | 'hold' | 'upstream' | 'capture' | 'stream'

/** The trace of one call that is sampled. A call without one has null, and then does nothing and allocates nothing. */
export interface CallTrace {
  /** Ends the current step and begins this one. */
  step(name: TraceStep): void
  /** The `traceparent` for the upstream; null if the operator did not allow it. */
  readonly handedOn: string | null
  /** Begins the trace of a call within this one. */
  within(): CallTrace
  /** Ends the current step and the trace of the call. Later calls of any method do nothing. */
  end(call: EndedCall): void
}

export interface Tracer {
  /** Begins the trace of a call at its first step. `parent`: the caller's `traceparent`, as received. Null if it is not sampled. */
  begin(parent: string | null): CallTrace | null
}
