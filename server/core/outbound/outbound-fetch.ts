import type { Result } from '../result'

/** One call to somebody else's server. The whole of it, redirects and body included, is bounded in time and bytes. */
export interface OutboundRequest {
  /** Absolute, `http:` or `https:`. */
  readonly url: string
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly timeoutMs: number
  /** Most bytes of the body, as sent and again after it is unpacked. */
  readonly maxBytes: number
  /**
   * Redirects to follow; none when absent: the 3xx is then the answer. Only GET and HEAD are followed. Headers given here go
   * to the first origin only.
   */
  readonly maxRedirects?: number
  /** What a 2xx body may be, such as `text/html` or `text/*`, without parameters. Absent: anything. */
  readonly contentTypes?: readonly string[]
  /** Asked before every hop, the first included. A `false` ends the call with `not_allowed`. */
  readonly mayVisit?: (url: URL, signal: AbortSignal) => boolean | Promise<boolean>
  readonly signal?: AbortSignal
}

export interface OutboundAnswer {
  /** The address that answered, after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  /** Lower case, without parameters; empty when the server named none. */
  readonly contentType: string
  /** Unpacked. */
  readonly body: Uint8Array<ArrayBuffer>
}

/**
 * Why there is no answer.
 * `bad_url`: not an address that is ever called. `not_allowed`: `mayVisit` said no. `forbidden_address`: it resolves to
 * an address that is not public. `unreachable`: no name, no connection, no valid certificate. `cut`: it ended in the middle.
 */
export type OutboundProblemKind =
  | 'bad_url'
  | 'not_allowed'
  | 'forbidden_address'
  | 'unreachable'
  | 'timeout'
  | 'aborted'
  | 'too_large'
  | 'too_many_redirects'
  | 'wrong_type'
  | 'bad_encoding'
  | 'cut'

export interface OutboundProblem {
  readonly kind: OutboundProblemKind
  /** For the log. It may name hosts and addresses; it holds no path, query or header. */
  readonly reason: string
}

/** Calls out. Any HTTP status is an answer. It never throws for what the other side does. */
export type OutboundFetch = (request: OutboundRequest) => Promise<Result<OutboundAnswer, OutboundProblem>>
