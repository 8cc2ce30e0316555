import type { BareCondition } from './bare-answers'

/** One request of an attempt, as far as the judge must know it. */
export interface Asked {
  readonly method: string
  /** The path as a URL has it; null for what is no request. */
  readonly path: string | null
}

/** The text of one connection, and its allowed answers. */
export interface Attempt {
  /** For the summary and for failures. */
  readonly kind: string
  /** Bytes, one character each; with a short pause between parts. */
  readonly parts: readonly string[]
  /** In the order of their answers. */
  readonly asked: readonly Asked[]
  /** When Bun may answer instead of us. */
  readonly bare: BareCondition | null
  /** Whether the other side closes after its answer, as HTTP/1.0 and `Connection: close` have it. */
  readonly isLast: boolean
  /** The step after the last byte. `half-close` and `leave` may cost the answer. */
  readonly ending: 'read' | 'half-close' | 'leave'
}

/** The material for fuzzing: made before the run. */
export interface World {
  readonly port: number
  /** A key that is charged and lives through the whole run. */
  readonly goodKey: string
  /** A key that may call once a minute. It is one of `otherKeys`. */
  readonly slowKey: string
  /** Disabled, expired, exhausted, of an empty account, bound to an address, rotated, few requests a minute, unknown. */
  readonly otherKeys: readonly string[]
  /** The session that may do what it likes with its own keys; its account pays for nothing. */
  readonly ownerCookie: string
  /** A session to end. */
  readonly doomedCookie: string
  /** Keys of the owner, to change, rotate and revoke. */
  readonly keyIds: readonly string[]
}

/** The path that a target leads to, as RFC 3986 has it. */
function pathOf(target: string): string {
  const afterHost = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return new URL(`http://localhost${afterHost.startsWith('/') ? '' : '/'}${afterHost}`).pathname
}

const MAX_HEAD_BYTES = 14_000

export interface RequestParts {
  readonly method: string
  readonly target: string
  readonly version?: '1.0' | '1.1'
  readonly host?: string | null
  /** Header lines without their ends. */
  readonly lines: readonly string[]
  readonly body?: string | null
}

/** The bytes of a well-framed request. */
export function framed({
  method,
  target,
  version = '1.1',
  host = '127.0.0.1',
  lines,
  body = null,
}: RequestParts): string {
  const all = [
    `${method} ${target} HTTP/${version}`,
    ...(host === null ? [] : [`Host: ${host}`]),
    ...lines,
    ...(body === null ? [] : [`Content-Length: ${body.length}`]),
  ]
  return `${all.join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** An attempt with one well-framed request. Where the head is long enough, Bun may refuse it. */
export function single(kind: string, parts: RequestParts): Attempt {
  const bytes = framed(parts)
  const head = bytes.length - (parts.body?.length ?? 0)
  return {
    kind,
    parts: [bytes],
    asked: [{ method: parts.method, path: pathOf(parts.target) }],
    bare: head > MAX_HEAD_BYTES || parts.lines.length > 180 ? 'head too large' : null,
    isLast: parts.version === '1.0' || parts.lines.includes('Connection: close'),
    ending: 'read',
  }
}
