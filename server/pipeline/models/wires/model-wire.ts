import type { Failure } from '../../../core/failure'
import type { Json } from '../../../core/json'
import { isTranslated, type ModelRoute, type ModelUpstream, servesRoute } from '../../../core/models/model'
import type { ModelTokens } from '../../../core/models/model-tokens'
import type { Result } from '../../../core/result'
import type { UsageSource } from '../../../core/usage/call-record'
import type { Meter } from '../../stream'
import { endOfString } from './json/readable-json'
import { type ModelRequest, TEXT_PART, USUAL_BYTES } from './model-request'

/** The settings of a call in its path and query, in addition to its body. */
export interface WirePath {
  readonly model: string | null
  readonly stream: boolean
  /** Whether a stream is sent as server-sent events. A Gemini stream without them is one JSON array. */
  readonly events: boolean
  /** What separates the parts of a body that is a form. */
  readonly boundary?: string
}

/** How calls are sent to an upstream, and what its answers say. */
export interface UpstreamWire {
  /** The body for an upstream: as received, except for the model's name, a missing cap, and the request for usage. */
  bodyFor(request: ModelRequest, upstream: ModelUpstream, cap: number): Uint8Array<ArrayBuffer>
  /** The token counts in a plain answer; null if they are missing or impossible. */
  usageOf(answer: Json): ModelTokens | null
  /** The bytes of text in an answer, for an estimate. */
  textBytes(answer: string): number
  /** Meters a stream, and translates it if the upstream speaks another format. */
  meter(request: ModelRequest, path: WirePath): StreamMeter
  /** Whether answers are sound or other bytes, not JSON. */
  readonly isBinary?: true
  /** The pictures, searches or seconds that an answer states, if these are charged; null if it does not. */
  unitsOf?(answer: Json): number | null
  /** The body for the caller, if it is not always the one that arrived; null if it holds no answer. */
  answerOf?(answer: Json, request: ModelRequest, bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null
}

/** One vendor's format of calls, answers and streams. Pure: bytes in, bytes out. */
export interface ModelWire extends UpstreamWire {
  readonly route: ModelRoute
  /** Whether its calls are forms with files, not JSON. They are sent on as forms. */
  readonly isForm?: true
  /** Validates what the gateway must know of a call. The vendor validates the rest. */
  read(bytes: Uint8Array<ArrayBuffer>, path: WirePath): Result<ModelRequest, Failure>
  /** How an upstream that supports chat completions only serves the same calls. */
  readonly overChat?: UpstreamWire
  /** The event that reports a failure after a stream's 200 and `sent` events, made from `failureBody`'s JSON. */
  errorEvent(body: string, path: WirePath, sent: number): string
}

export function wireAt(upstream: ModelUpstream, wire: ModelWire): UpstreamWire {
  return wire.overChat && isTranslated(upstream, wire.route) ? wire.overChat : wire
}

/** Whether an upstream can be sent a call: it speaks its API, and a translation, if it takes one, loses nothing. */
export function serves(upstream: ModelUpstream, { route }: ModelWire, { chat }: Pick<ModelRequest, 'chat'>): boolean {
  if (!servesRoute(upstream, route)) return false
  return !isTranslated(upstream, route) || chat === undefined || chat.beyond === null
}

export interface StreamMeter extends Meter {
  /** The events passed on so far, where the wire numbers them. */
  readonly sentEvents?: number
  readonly seen: MeteredOutput
  /** See `MeteredOutput`. */
  readonly textBytes: number
}

/** The delivered usage, as reported by the vendor or counted by the gateway. */
export interface MeteredOutput {
  /** The vendor's latest report. */
  readonly counts: ModelTokens | null
  /** Whether that report covers the whole call. */
  readonly isFinal: boolean
  /** Bytes of text, thinking and tool calls that were delivered. */
  readonly textBytes: number
  /** What was delivered, if the model is not charged by tokens. Absent if the answer does not say. */
  readonly units?: number
}

export interface Metered {
  readonly tokens: ModelTokens
  readonly source: UsageSource
}

/**
 * The charged usage of a call (spec D4, docs/models.md): the vendor's final count, if it is plausible; otherwise the
 * vendor's or our own count of the input (`input`), and an estimate of the text that was delivered. Never more output than the cap.
 */
export function metered({ counts, isFinal, textBytes }: MeteredOutput, input: number, cap: number): Metered {
  if (counts && isFinal && !(counts.output === 0 && textBytes > 0)) return { tokens: counts, source: 'exact' }
  const estimate = Math.min(Math.ceil(textBytes / USUAL_BYTES), cap)
  const tokens = {
    ...counts,
    input: counts?.input ?? input,
    output: Math.max(counts?.output ?? 0, estimate),
    cacheRead: counts?.cacheRead ?? 0,
    cacheWrite: counts?.cacheWrite ?? 0,
  }
  return { tokens, source: 'estimated' }
}

/** A pattern that finds the start of string properties with these names, for `stringBytes`. */
export function stringMembers(...names: readonly string[]): RegExp {
  return new RegExp(`"(${names.join('|')})"\\s*:\\s*"`, 'g')
}

/** The bytes of string properties in unparsed JSON. A quote inside a string is always escaped. */
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

/** The streaming half of an API that only has plain answers. */
export const PLAIN_ANSWERS: Pick<ModelWire, 'textBytes' | 'meter' | 'errorEvent'> = {
  // Vectors and counts are no text that a model wrote.
  textBytes: () => 0,
  meter: () => {
    throw new Error('an API without streams has nothing to meter')
  },
  errorEvent: (body) => body,
}

/** The common part of such an API's calls: text in, and no written output. */
export const PLAIN_REQUEST = {
  stream: false,
  usageAsked: true,
  cap: 0,
  choices: 1,
  parts: TEXT_PART,
  hasTools: false,
} as const satisfies Partial<ModelRequest>
