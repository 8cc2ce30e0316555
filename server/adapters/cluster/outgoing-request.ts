import { HOP_HEADER } from '../../core/cluster/hop'
import { requestPath } from './hop-header'

/** A body up to this size is buffered, so that it can be sent again if no node has read it. */
const WHOLE_BODY_BYTES = 64 * 1024

/** The body of a request on its way to another node. */
export type OutgoingBody =
  | { readonly kind: 'whole'; readonly bytes: Uint8Array }
  /** Passed on as it arrives. `length`: null if unknown until its end. */
  | { readonly kind: 'stream'; readonly stream: ReadableStream<Uint8Array>; readonly length: number | null }

/** Headers of a single connection, or set again for the next one (RFC 9110 section 7.6.1). */
const NOT_PASSED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'expect', 'content-length'],
  // A hop header from outside proves nothing.
  HOP_HEADER,
])
export const NO_BODY: OutgoingBody & { kind: 'whole' } = { kind: 'whole', bytes: new Uint8Array() }

/** The body that the request's framing announces; `small` if it is buffered first. */
export function outgoingBody(request: Request): OutgoingBody | 'small' {
  const { headers, method } = request
  // Bun drops the body of these methods.
  if (method === 'GET' || method === 'HEAD') return NO_BODY
  const length = headers.get('content-length')
  if (length === '0' || (length === null && !headers.has('transfer-encoding'))) return NO_BODY
  const known = length !== null && /^\d{1,15}$/.test(length) ? Number(length) : null
  if (known !== null && known <= WHOLE_BODY_BYTES) return 'small'
  return request.body ? { kind: 'stream', stream: request.body, length: known } : NO_BODY
}

/** The path and query to send, which parse to the same URL at the owner. */
export function outgoingPath(url: string): string {
  const path = requestPath(url)
  if (/^[\x21-\x7e]+$/.test(path)) return path
  const { pathname, search } = new URL(`http://localhost${path}`)
  return pathname + search
}

/** The headers of a request, as sent on a link. */
export function passedHeaders(request: Request, body: OutgoingBody & { kind: 'whole' }): Record<string, string> {
  const headers: Record<string, string> = request.headers.toJSON()
  const dropped = namedByConnection(headers['connection'])
  const passed: Record<string, string> = {}
  for (const name in headers) if (!NOT_PASSED.has(name) && !dropped?.includes(name)) passed[name] = `${headers[name]}`
  if (hasLength(request.method, body.bytes.byteLength)) passed['content-length'] = `${body.bytes.byteLength}`
  return passed
}

/** Request line and headers as the caller sent them, except those of the connection. */
export function outgoingHead(
  request: Request,
  to: { readonly path: string; readonly host: string; readonly hop: string },
  body: OutgoingBody,
): Buffer {
  const headers: Record<string, string | readonly string[]> = request.headers.toJSON()
  const dropped = namedByConnection(headers['connection'])
  let text = `${request.method} ${to.path} HTTP/1.1\r\n`
  for (const name in headers)
    if (!NOT_PASSED.has(name) && !dropped?.includes(name)) text += `${name}: ${headers[name]}\r\n`
  // Only HTTP/1.0 may omit it.
  if (headers['host'] === undefined) text += `host: ${to.host}\r\n`
  // Bun reads header bytes as Latin-1.
  return Buffer.from(`${text}${framing(request.method, body)}${HOP_HEADER}: ${to.hop}\r\n\r\n`, 'latin1')
}

function framing(method: string, body: OutgoingBody): string {
  const length = body.kind === 'whole' ? body.bytes.byteLength : body.length
  if (length === null) return 'transfer-encoding: chunked\r\n'
  return hasLength(method, length) ? `content-length: ${length}\r\n` : ''
}

/** Whether a request carries a content length. */
function hasLength(method: string, length: number): boolean {
  return length > 0 || method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** The headers that the caller's `Connection` names; null for the two usual values. */
function namedByConnection(value: string | readonly string[] | undefined): readonly string[] | null {
  if (value === undefined || value === 'keep-alive' || value === 'close') return null
  // `host` must stay: without it, it would be a different request.
  const named = `${value}`
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
  return named.filter((name) => name !== 'host')
}
