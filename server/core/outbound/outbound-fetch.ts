import type { Result } from '../result'

/** A request to an external server. Time and size limits cover all of it, including redirects and the body. */
export interface OutboundRequest {
  /** Absolute, `http:` or `https:`. */
  readonly url: string
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** A request that changes something although its method is GET or HEAD: it is sent once, on a connection of its own. */
  readonly isWrite?: boolean
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Infinite where `signal` ends in time. */
  readonly timeoutMs: number
  /** The maximum size of the body, both compressed and decompressed. */
  readonly maxBytes: number
  /**
   * The maximum number of redirects to follow. If absent, a 3xx is returned as it is. Only GET and HEAD are redirected. `headers` are
   * sent to the first origin only.
   */
  readonly maxRedirects?: number
  /** Allowed content types of a 2xx response, such as `text/html` or `text/*`, without parameters. Any if absent. */
  readonly contentTypes?: readonly string[]
  /** Called before every hop, including the first. False ends the request with `not_allowed`. */
  readonly mayVisit?: (url: URL, signal: AbortSignal) => boolean | Promise<boolean>
  readonly signal?: AbortSignal
}

export interface OutboundAnswer {
  /** The final URL after redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  /** Lower case, without parameters. Empty if absent. */
  readonly contentType: string
  /** Decompressed. */
  readonly body: Uint8Array<ArrayBuffer>
}

/**
 * Why there is no response. `bad_url`: the URL is not allowed. `not_allowed`: `mayVisit` returned false. `forbidden_address`: the
 * host resolves to an address that is not public. `unreachable`: DNS, connection or certificate failed. `cut`: the response broke off.
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
  /** For the log. May name hosts and addresses, but no path, query or header. */
  readonly reason: string
}

/** Sends an outbound request. Any HTTP status is a success. Never throws for errors of the other side. */
export type OutboundFetch = (request: OutboundRequest) => Promise<Result<OutboundAnswer, OutboundProblem>>

/** A 2xx answer whose headers have arrived and whose body follows, as it was sent: an encoded body is refused. */
export interface OutboundStream extends Omit<OutboundAnswer, 'body'> {
  readonly body: ReadableStream<Uint8Array>
  /** Closes the connection; the body then fails. May be called repeatedly. */
  cancel(): void
}

/** `whole`: an answer with any other status, whose body was read. */
export type OutboundOpened =
  | { readonly kind: 'stream'; readonly stream: OutboundStream }
  | { readonly kind: 'whole'; readonly answer: OutboundAnswer }

/**
 * Sends a request whose answer may go on for long. `timeoutMs` covers the time until the headers, and `maxBytes` only answers that are no
 * streams: how long a stream lasts, and how silent it may be, is for its reader to limit. Never follows a redirect.
 */
export type OutboundStreamFetch = (
  request: Omit<OutboundRequest, 'maxRedirects'>,
) => Promise<Result<OutboundOpened, OutboundProblem>>

/** The length that a body will have as it is sent; null if it is not known. A chunked body may be longer than a length that came with it. */
export function declaredLength(headers: Headers): number | null {
  const length = headers.get('content-length')
  return length !== null && /^\d{1,15}$/.test(length) && !headers.has('transfer-encoding') ? Number(length) : null
}
