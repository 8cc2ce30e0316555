import type { Failure } from '../../../core/failure'
import type { Json } from '../../../core/json'
import type { ModelRoute, ModelUpstream } from '../../../core/models/model'
import type { ModelTokens } from '../../../core/models/model-tokens'
import type { Result } from '../../../core/result'
import type { UsageSource } from '../../../core/usage/call-record'
import type { ModelRequest } from './model-request'

/** What a route's path and query say beside the body. */
export interface WirePath {
  readonly model: string | null
  readonly stream: boolean
  /** Whether a stream comes as server-sent events; a Gemini stream without them is one JSON array. */
  readonly events: boolean
}

/** One vendor's way to write calls, answers and streams. Pure: bytes in, bytes out. */
export interface ModelWire {
  readonly route: ModelRoute
  /** Judges what the gateway must know of a call; the vendor judges the rest. */
  read(bytes: Uint8Array<ArrayBuffer>, path: WirePath): Result<ModelRequest, Failure>
  /** The body for an upstream: as it came, but for the model's name, the cap that was missing, and the usage asked for. */
  bodyFor(request: ModelRequest, upstream: ModelUpstream, cap: number): Uint8Array<ArrayBuffer>
  /** What a plain answer says of its tokens; null when nothing that can be true. */
  usageOf(answer: Json): ModelTokens | null
  /** How many bytes of text an answer has, for an estimate. */
  textBytes(answer: string): number
  meter(request: ModelRequest, path: WirePath): StreamMeter
  /** A failure behind the 200 of a stream, from `failureBody`'s JSON. */
  errorEvent(body: string, path: WirePath): string
}

/** Follows one stream. */
export interface StreamMeter {
  /** What may be sent on. The end that the stream has by itself is kept back until the charge is durable. */
  push(chunk: Uint8Array): Uint8Array
  /** The upstream's body has ended: what is left of it, without its end. */
  close(): Uint8Array
  /** The end that was kept back. */
  readonly ending: Uint8Array
  /** Whether the stream came to its own end. */
  readonly isComplete: boolean
  /** Whether the upstream told of a failure in the stream. */
  readonly hasFailed: boolean
  readonly seen: Seen
}

/** What went through, as far as it was told or can be counted. */
export interface Seen {
  /** The latest that the vendor said. */
  readonly counts: ModelTokens | null
  /** Whether that is the whole call's. */
  readonly isFinal: boolean
  /** Bytes of text, thinking and tool calls that went through. */
  readonly textBytes: number
}

export interface Metered {
  readonly tokens: ModelTokens
  readonly source: UsageSource
}

/** Of text, so many bytes are usually a token. */
export const USUAL_BYTES = 4

/**
 * The written rule of what a call is charged for (spec-answers 4, docs/models.md): the vendor's own final count, if it can be true;
 * else what it said of the input, or our estimate of that, and an estimate of the text that went through. Never more output
 * than the cap allowed.
 */
export function metered(seen: Seen, expected: { readonly input: number; readonly output: number }): Metered {
  const { counts, isFinal, textBytes } = seen
  if (counts && isFinal && !(counts.output === 0 && textBytes > 0)) return { tokens: counts, source: 'exact' }
  const estimate = Math.min(Math.ceil(textBytes / USUAL_BYTES), expected.output)
  return {
    tokens: {
      input: counts?.input ?? expected.input,
      output: Math.max(counts?.output ?? 0, estimate),
      cacheRead: counts?.cacheRead ?? 0,
      cacheWrite: counts?.cacheWrite ?? 0,
      ...(counts?.hourWrite !== undefined && { hourWrite: counts.hourWrite }),
    },
    source: 'estimated',
  }
}

/** Finds where the string members of these names begin, for `stringBytes`. */
export function stringMembers(...names: readonly string[]): RegExp {
  return new RegExp(`"(?:${names.join('|')})"\\s*:\\s*"`, 'g')
}

/** The bytes of string members, in JSON that nobody parsed: a quote inside a string has a backslash before it. */
export function stringBytes(json: string, members: RegExp): number {
  let bytes = 0
  for (members.lastIndex = 0; members.test(json); ) {
    const start = members.lastIndex
    const end = endOfString(json, start)
    bytes += end - start
    members.lastIndex = end + 1
  }
  return bytes
}

/** The place of the quote that ends the string; the end of the text where none does. */
function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from); at >= 0; at = json.indexOf('"', at + 1)) {
    let slashes = 0
    while (json[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at
  }
  return json.length
}
