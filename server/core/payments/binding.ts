import { createHash } from 'node:crypto'

/**
 * Binds a challenge to one request. The challenge's HMAC covers it, so a credential for one request cannot pay for another.
 * `op` is the operation, `fp` the request's fingerprint, `rid` its X-Request-ID, `own` whether the gateway generated that id, and
 * `account` the account to top up.
 */
export type Binding = Readonly<Record<string, string>>

export interface Bound {
  readonly operation: string
  readonly fingerprint: string
  /** The X-Request-ID that the caller sent. */
  readonly clientRequestId: string | null
  /** The gateway's id of this call. Also makes two challenges of the same millisecond differ. */
  readonly requestId: string
  readonly account: string | null
}

/**
 * The binding that a credential for this request must have. A caller that sent an X-Request-ID must send the same one again
 * (spec 5.3). An id that the gateway generated is optional, because most clients do not send it back. `shown` is the binding in
 * the credential, or null for a new challenge.
 */
export function bindingOf(bound: Bound, shown: Binding | null): Binding {
  const ours = shown ? shown['own'] === '1' : bound.clientRequestId === null
  const rid = ours
    ? (bound.clientRequestId ?? shown?.['rid'] ?? bound.requestId)
    : (bound.clientRequestId ?? 'the caller sent none')
  return {
    op: bound.operation,
    fp: bound.fingerprint,
    rid,
    own: ours ? '1' : '0',
    ...(bound.account !== null && { account: bound.account }),
  }
}

/** The canonical text of a binding, independent of the order of its members. */
export function bindingText(binding: Binding): string {
  return JSON.stringify(Object.entries(binding).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The parts of a request that determine its response. */
export interface FingerprintParts {
  readonly method: string
  readonly path: string
  readonly query: Iterable<readonly [string, string]>
  /** The parsed input: every parameter, header and body member that the operation reads, defaults filled in. */
  readonly input: unknown
}

/** Headers that may change when a client retries a request. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(['user-agent', 'cache-control', 'accept'])

/** SHA-256 of method, path, query and all input. Two requests have the same fingerprint only if one is a retry of the other. */
export function fingerprintOf({ method, path, query, input }: FingerprintParts): string {
  const pairs = [...query].map((pair) => pair.map(encodeURIComponent).join('=')).sort()
  const hash = createHash('sha256')
  hash.update(JSON.stringify([method, path, pairs, sorted(input, IGNORED_HEADERS)]))
  return hash.digest('base64url')
}

/** SHA-256 of content that is compared byte for byte: a body or a credential. */
export function digestOf(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('base64url')
}

function sorted(value: unknown, without: ReadonlySet<string> = new Set()): unknown {
  if (Array.isArray(value)) return value.map((item) => sorted(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([name]) => !without.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)])
}
