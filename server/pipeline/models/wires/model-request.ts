import { type Failure, failure } from '../../../core/failure'
import { isJson, type Json } from '../../../core/json'
import type { Model } from '../../../core/models/model'
import { err, ok, type Result } from '../../../core/result'
import { type NamedMember, objectMembers } from './json-members'

/** What the gateway must know of a call's body. The body itself goes on as it came. */
export interface ModelRequest {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly members: ReadonlyMap<string, NamedMember>
  readonly model: string
  readonly stream: boolean
  /** Whether the caller wants the usage in the stream. */
  readonly usageAsked: boolean
  /** Most tokens of one answer, as the caller said. */
  readonly cap: number | null
  /** How many answers it asks for. */
  readonly choices: number
  readonly parts: InputParts
  readonly hasTools: boolean
  /** Tools that the vendor describes to the model in words of its own. */
  readonly vendorTools?: number
  /** Members of the body that no token price covers, as paths. */
  readonly uncovered: readonly string[]
  /** Whether a cache may be asked to keep input for an hour, which has a price of its own. */
  readonly hourCache?: boolean
}

/** Input that is not text. */
export interface InputParts {
  readonly images: number
  /** Bytes of the body that are pictures, and no text. */
  readonly imageBytes: number
  /** Parts whose tokens the length of the body does not bound: files, sound, film. */
  readonly opaque: number
}

/**
 * Tokens that are held beside one for each byte: a vendor's own words around every call, more around tools, and as many again
 * for each tool that the vendor describes itself. docs/models.md says the same numbers, and a test compares them.
 */
export const ADDED_TOKENS = { call: 64, tools: 1024 } as const
/** Text has at most one token per byte; about four bytes per token is usual. */
const USUAL_BYTES = 4
const USUAL_IMAGE_TOKENS = 1_500

/** No vendor's body has a tenth of them. */
const MAX_OWN_MEMBERS = 1000

/** A call's tokens before it is made: `most` is proven, `likely` is a guess for the window. */
export interface TokenBounds {
  readonly input: { readonly most: number; readonly likely: number }
  /** The cap times the number of answers. */
  readonly output: number
}

/**
 * The bounds of a call with this cap. The most input: each byte of the body a token, each image the most that an image of
 * the model can be; never more than the model's context. Null when a part of the input has no bound that we know.
 */
export function boundsOf(request: ModelRequest, model: Model, cap: number): TokenBounds | null {
  const { images, imageBytes, opaque } = request.parts
  const bytes = request.bytes.length - imageBytes
  const context = model.contextTokens ?? Number.POSITIVE_INFINITY
  const added = ADDED_TOKENS.call + ((request.hasTools ? 1 : 0) + (request.vendorTools ?? 0)) * ADDED_TOKENS.tools
  const most = opaque > 0 ? context : Math.min(context, bytes + added + images * model.imageTokens)
  if (!Number.isFinite(most)) return null
  const guess = Math.ceil(bytes / USUAL_BYTES) + images * Math.min(model.imageTokens, USUAL_IMAGE_TOKENS)
  return { input: { most, likely: Math.min(most, guess) }, output: cap * request.choices }
}

/** The body as an object, and where its members stand. */
export function readBody(
  bytes: Uint8Array<ArrayBuffer>,
): Result<{ json: Json; members: ReadonlyMap<string, NamedMember> }, Failure> {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return err(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  }
  if (!isJson(json)) return err(failure('invalid_request', 'The body must be a JSON object.'))
  if (Object.keys(json).length > MAX_OWN_MEMBERS)
    return err(failure('invalid_request', `The body has more than ${MAX_OWN_MEMBERS} properties.`))
  const members = objectMembers(bytes)
  if (!members) return err(failure('invalid_request', 'The body contains a duplicate property.'))
  return ok({ json, members })
}

/** A list's elements; one value alone counts as a list of it, as some vendors read it. */
export function manyOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

export function wrong(param: string, rule: string): { readonly ok: false; readonly error: Failure } {
  return err(failure('invalid_parameter', `${param} ${rule}`, { param }))
}

export function missing(param: string): { readonly ok: false; readonly error: Failure } {
  return err(failure('missing_parameter', `${param} is required`, { param }))
}

/** The first member that no token price covers and that the model's entry does not name; null when there is none. */
export function unsold(request: ModelRequest, model: Model): Failure | null {
  const param = request.uncovered.find((member) => !model.extraMembers.includes(member))
  if (param === undefined) return null
  return failure(
    'unsupported_parameter',
    `${param} is not available for ${model.id}: its price per token does not include it. Remove it and send the request again.`,
    { param },
  )
}

/** A whole number above 0, or null where there is none. Undefined: it is something else. */
export function positive(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null
  return Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= 100_000_000 ? Number(value) : undefined
}

/** Adds up the parts of a list. */
export function partsOf(parts: Iterable<InputParts>): InputParts {
  const sum = { images: 0, imageBytes: 0, opaque: 0 }
  for (const part of parts) {
    sum.images += part.images
    sum.imageBytes += part.imageBytes
    sum.opaque += part.opaque
  }
  return sum
}

export const TEXT_PART: InputParts = { images: 0, imageBytes: 0, opaque: 0 }
export const OPAQUE_PART: InputParts = { images: 0, imageBytes: 0, opaque: 1 }

/** `data` is its base64 text; what is none counts as text as well. */
export function imagePart(data: unknown): InputParts {
  const isData = typeof data === 'string' && /^[A-Za-z0-9+/_-]*={0,2}$/.test(data)
  return { images: 1, imageBytes: isData ? data.length : 0, opaque: 0 }
}
