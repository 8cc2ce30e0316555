import { boundedBytes } from '../../../core/bounded-bytes'

/** Sends requests to the network: over the internet, or to the sandbox in this process. Follows no redirects. */
export type Transport = (url: string, init: RequestInit & { readonly signal: AbortSignal }) => Promise<Response>

export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly authorization: string | null
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
}

export interface WireResponse {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The outcome of a request: a complete response, or none and whether the request can have arrived. */
export type WireOutcome =
  | WireResponse
  | { readonly kind: 'not_sent'; readonly reason: string }
  | { readonly kind: 'no_answer'; readonly reason: string }

/** The network's responses are small; anything larger does not come from it. */
const MAX_BYTES = 1024 * 1024

/** Bun's and Node's codes for failures to connect: the request was never sent. */
const NEVER_LEFT = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EAI_AGAIN',
  'DNSException',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

/** Sends once, without retries, and reads the response. Reasons contain no token and no URL. */
export async function sendToNetwork(
  transport: Transport,
  request: WireRequest,
  signal: AbortSignal,
): Promise<WireOutcome> {
  if (signal.aborted) return { kind: 'not_sent', reason: 'given up before it was sent' }
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'paid-api-gateway' }
  if (request.authorization !== null) headers['authorization'] = request.authorization
  if (request.json !== undefined) headers['content-type'] = 'application/json'
  if (request.form) headers['content-type'] = 'application/x-www-form-urlencoded'
  const body = request.form
    ? new URLSearchParams(request.form).toString()
    : request.json === undefined
      ? null
      : JSON.stringify(request.json)
  // If the other side closes a kept-alive connection while we write, the runtime sends the request again by itself. Writes use a new
  // connection, so that they are sent only once.
  const keepalive = request.method === 'GET'
  try {
    const response = await transport(request.url, {
      method: request.method,
      headers,
      body,
      signal,
      redirect: 'manual',
      keepalive,
    })
    return { kind: 'answered', status: response.status, headers: response.headers, text: await boundedText(response) }
  } catch (error) {
    const name = codeOf(error)
    return { kind: NEVER_LEFT.has(name) ? 'not_sent' : 'no_answer', reason: name }
  }
}

async function boundedText(response: Response): Promise<string> {
  const bytes = await boundedBytes(response.body, MAX_BYTES)
  if (!bytes) throw new Error('AnswerTooLarge')
  return bytes.toString('utf8')
}

/** The error's code, never its message, which can contain a URL. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.name === 'Error' ? error.message.slice(0, 60) : error.name
}
