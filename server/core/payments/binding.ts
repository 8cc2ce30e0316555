import { createHash } from 'node:crypto'

/**
 * What a challenge is bound to: it is part of what the challenge's HMAC covers, so a credential for one request buys no other.
 * `op` what is bought; `fp` the request; `rid` its X-Request-ID; `own` whether we made that id up; `account` whose wallet.
 */
export type Binding = Readonly<Record<string, string>>

export interface Bound {
  readonly operation: string
  readonly fingerprint: string
  /** The caller's own X-Request-ID. */
  readonly clientRequestId: string | null
  /** Ours, of this very call: also what makes two challenges of one millisecond differ. */
  readonly requestId: string
  readonly account: string | null
}

/**
 * The binding that a credential for this request must have. A caller that named its request must name it again (spec 5.3).
 * Where we made the id up it may come back or not, for most clients of the scheme do not send it; `shown` is what the
 * credential says, and null for a new challenge.
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

/** One text per binding, whatever the order of its members. */
export function bindingText(binding: Binding): string {
  return JSON.stringify(Object.entries(binding).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What of a request decides its answer. */
export interface FingerprintParts {
  readonly method: string
  readonly path: string
  readonly query: Iterable<readonly [string, string]>
  /** The parsed input: every parameter, header and body member that the operation reads, defaults filled in. */
  readonly input: unknown
}

/** Headers that a client may change between two tries of one request. */
const NOT_PART_OF_IT: ReadonlySet<string> = new Set(['user-agent', 'cache-control', 'accept'])

/** SHA-256 over method, path, query and everything that the operation reads. Equal for two tries of one request only. */
export function fingerprintOf({ method, path, query, input }: FingerprintParts): string {
  const pairs = [...query].map((pair) => pair.map(encodeURIComponent).join('=')).sort()
  const hash = createHash('sha256')
  hash.update(JSON.stringify([method, path, pairs, sorted(input, NOT_PART_OF_IT)]))
  return hash.digest('base64url')
}

/** SHA-256 of what is compared byte for byte: a body, or the text of a credential. */
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
