import { type Failure, failure } from '../../../core/failure'
import { isJson, type Json, parsedJsonBytes } from '../../../core/json'
import type { Model } from '../../../core/models/model'
import { MEMBER_PATH } from '../../../core/models/model-file-schema'
import type { TokenPart } from '../../../core/models/model-tokens'
import { maxTokenCost, type TokenPrice } from '../../../core/models/token-price'
import { isUnitPrice, type ModelPrice, tokenPriceOf, type UnitsAsked } from '../../../core/models/unit-price'
import type { Money } from '../../../core/money'
import { err, ok, type Result } from '../../../core/result'
import { objectMembers, type PropertyPosition } from './json/json-members'
import { pricedPart } from './priced-members'

/** The facts of a call's body that the gateway needs. The body itself is forwarded as received. */
export interface ModelRequest {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly members: ReadonlyMap<string, PropertyPosition>
  readonly model: string
  readonly stream: boolean
  /** Whether the caller wants the usage in the stream. */
  readonly usageAsked: boolean
  /** The caller's limit of the tokens of one answer. 0: the answer has no text. */
  readonly cap: number | null
  /** The number of answers requested. */
  readonly choices: number
  /** Thinking that a vendor may bill on top of the cap. Without a budget of the caller it gets the cap as its budget. */
  readonly thinking?: { readonly budget: number | null }
  readonly parts: InputParts
  /** The bytes of its text, where the format tells them; the tokens are estimated from these instead of from the whole body. */
  readonly textBytes?: number
  readonly hasTools: boolean
  /** The number of tools that the vendor describes to the model in its own words. */
  readonly vendorTools?: number
  /** The body without tools that are switched off, if it has any. They are sent only where the model's entry names `path`. */
  readonly withoutOffTools?: Pick<ModelRequest, 'bytes' | 'members'> & { readonly path: string; readonly count: number }
  /** Properties of the body that the price of plain tokens does not cover, as paths. */
  readonly uncovered: readonly string[]
  /** The service tier that it asks for. Null: the usual one, or the vendor's choice. Absent where the format has no such choice. */
  readonly tier?: string | null
  /** The tier at which the vendor may serve it although it asks for none. */
  readonly unaskedTier?: string
  /** The most uses of each tool that the vendor runs, by its name without a date. Null: not bounded. */
  readonly uses?: Readonly<Record<string, number | null>>
  /** Whether no vendor bills such a call, such as a count of tokens. */
  readonly isFree?: boolean
  /** The call as a chat completion, for upstreams that speak nothing else. */
  readonly chat?: ChatEquivalent
  /** Items of earlier answers that its input refers to instead of repeating them. */
  readonly references?: readonly ItemReference[]
  /** Whether later calls may refer to the items of its answer. */
  readonly keepsItems?: boolean
  /** The bytes that the model reads where that may be more than the body, such as a query before each of many documents. */
  readonly readBytes?: number
  /** What separates its parts, if it is a form. */
  readonly boundary?: string
  /** Its units, if its model is not charged by tokens. */
  readonly units?: UnitsAsked
  /** Members to set, because the price depends on them and the caller left them to the vendor. */
  readonly defaults?: Readonly<Record<string, string | number>>
}

/** An element of `input` that refers to an item of an earlier answer. */
export interface ItemReference {
  readonly id: string
  readonly index: number
}

/** A call of another API, written as a chat completion. */
export interface ChatEquivalent {
  /** The body without its model, cap and stream, which depend on the upstream. Never an empty object. */
  readonly body: Uint8Array<ArrayBuffer>
  /** The first setting that a chat completion cannot express, as a path; null if there is none. */
  readonly beyond: string | null
  /** Tools that are no plain functions by the names that they have in the chat. */
  readonly others?: ReadonlyMap<string, CallersTool>
}

/** A tool of the caller that may be no plain function: of a group, one that takes text, or the caller's search for tools. */
export interface CallersTool {
  /** The group, which Responses calls a namespace. */
  readonly namespace?: string
  readonly name: string
  readonly kind: 'function' | 'custom' | 'tool_search'
}

/** The parts of the input that are not text. */
export interface InputParts {
  readonly images: number
  /** Bytes of the body that are image data. */
  readonly imageBytes: number
  /** Parts whose tokens the length of the body does not bound: files, audio, video. */
  readonly opaque: number
}

/**
 * Tokens held in addition to one per byte: the vendor's own prompt around every call, more if there are tools, and the same
 * again for each tool that the vendor describes. A test compares these numbers with docs/models.md.
 */
export const ADDED_TOKENS = { call: 64, tools: 1024 } as const
/** Text has at most one token per byte; about four bytes per token is usual. */
export const USUAL_BYTES = 4
export const USUAL_IMAGE_TOKENS = 1_500

/** At least ten times what any vendor's format has. */
const MAX_OWN_MEMBERS = 1000

/** A call's tokens before it is made: `max` is a proven bound, `likely` an estimate for the rate window. */
export interface TokenBounds {
  readonly input: { readonly max: number; readonly likely: number }
  /** See `outputAt`. */
  readonly output: number
}

/**
 * The bounds of a call with this cap. The maximum input is one token per byte of the body plus the model's maximum for each
 * image, and never more than the model's context. Null if a part of the input has no known bound.
 */
export function boundsOf(request: ModelRequest, model: Model, cap: number): TokenBounds | null {
  const { images, imageBytes, opaque } = request.parts
  const bytes = Math.max(request.bytes.length - imageBytes, request.readBytes ?? 0)
  const context = model.contextTokens ?? Number.POSITIVE_INFINITY
  const added = ADDED_TOKENS.call + ((request.hasTools ? 1 : 0) + (request.vendorTools ?? 0)) * ADDED_TOKENS.tools
  const once = opaque > 0 ? context : Math.min(context, bytes + added + images * model.imageTokens)
  const max = request.uses ? inputWithTools(once, context, toolUses(request.uses, tokenPriceOf(model))) : once
  if (!Number.isFinite(max)) return null
  const guess =
    Math.ceil((request.textBytes ?? bytes) / USUAL_BYTES) + images * Math.min(model.imageTokens, USUAL_IMAGE_TOKENS)
  return { input: { max, likely: Math.min(max, guess) }, output: outputAt(request, cap) }
}

/** Before each use of a tool, and at the end, the model reads everything that it has until then. */
function inputWithTools(
  once: number,
  context: number,
  tools: readonly (readonly [uses: number, tokens: number])[],
): number {
  const uses = tools.reduce((sum, [count]) => sum + count, 0)
  return (
    (uses + 1) *
    Math.min(
      context,
      tools.reduce((sum, [count, tokens]) => sum + count * tokens, once),
    )
  )
}

/** The most uses of the tools that have a price, and the most tokens that a use of each adds to the input. */
function toolUses(uses: NonNullable<ModelRequest['uses']>, price: TokenPrice) {
  return Object.entries(uses).flatMap(([name, count]) => {
    const tokens = price
      .map(({ tools }) => tools?.[name])
      .map((tool) => tool && (tool.inputTokens ?? Number.POSITIVE_INFINITY))
    return isSoldTool(price, name) ? [[count ?? 0, Math.max(...tokens.map((most) => most ?? 0))] as const] : []
  })
}

/** Whether every rule of the price has one for the tool. */
export function isSoldTool(price: TokenPrice, name: string): boolean {
  return price.every(({ tools }) => tools && Object.hasOwn(tools, name))
}

/** The most that a call within these bounds can cost, before it is made. */
export function maxCallCost(request: ModelRequest, model: Model, { input, output }: TokenBounds): Money {
  const { tier, unaskedTier, uses } = request
  // A file may be sound, or have some.
  const parts = request.parts.opaque > 0 ? [...partsAsked(request), 'input_audio' as const] : partsAsked(request)
  const bounds = { input: input.max, output, tier, unaskedTier, parts }
  return maxTokenCost(tokenPriceOf(model), uses ? { ...bounds, uses: boundedUses(uses) } : bounds)
}

function boundedUses(uses: NonNullable<ModelRequest['uses']>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(uses).map(([name, most]) => [name, most ?? 0]))
}

/** The most output tokens of a call with this cap. */
export function outputAt({ choices, thinking }: Pick<ModelRequest, 'choices' | 'thinking'>, cap: number): number {
  return (cap + (thinking ? (thinking.budget ?? cap) : 0)) * choices
}

/** The body as an object, and the positions of its properties. */
export function readModelBody(
  bytes: Uint8Array<ArrayBuffer>,
): Result<{ json: Json; members: ReadonlyMap<string, PropertyPosition> }, Failure> {
  const json = parsedJsonBytes(bytes)
  if (json === undefined) return err(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  if (!isJson(json)) return err(failure('invalid_request', 'The body must be a JSON object.'))
  if (hasMoreMembers(json, MAX_OWN_MEMBERS))
    return err(failure('invalid_request', `The body has more than ${MAX_OWN_MEMBERS} properties.`))
  const members = objectMembers(bytes)
  if (!members) return err(failure('invalid_request', 'The body contains a duplicate property.'))
  return ok({ json, members })
}

function hasMoreMembers(json: Json, most: number): boolean {
  let left = most
  for (const _ in json) if (--left < 0) return true
  return false
}

const NONE: readonly unknown[] = []

/** The elements of a list. A single value counts as a list of one, as some vendors treat it. */
export function manyOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return NONE
  return Array.isArray(value) ? value : [value]
}

export function invalidMember(param: string, rule: string): { readonly ok: false; readonly error: Failure } {
  return err(failure('invalid_parameter', `${param} ${rule}`, { param }))
}

export function missingMember(param: string): { readonly ok: false; readonly error: Failure } {
  return err(failure('missing_parameter', `${param} is required`, { param }))
}

/** The failure for the first property that neither the price covers nor the model's entry allows; null if there is none. */
export function unpricedMember(request: ModelRequest, model: Model): Failure | null {
  const param = firstUnpriced(request, model)
  if (param === undefined)
    return request.uncovered.length > MAX_PRICED_MEMBERS ? TOO_MANY_PRICED : unboundedTool(request, model)
  const cure = MEMBER_PATH.test(param)
    ? `, or ask the operator to allow it with extra_members: ["${param}"] in the model's entry`
    : ''
  return failure(
    'unsupported_parameter',
    `${param} is not available for ${model.id}: its price${isUnitPrice(model.price) ? '' : ' per token'} does not include it. Remove it and send the request again${cure}.`,
    { param },
  )
}

/** Several times what any vendor has. More would only keep the thread that serves busy, once for each model that may serve the call. */
const MAX_PRICED_MEMBERS = 200
const TOO_MANY_PRICED = failure(
  'invalid_request',
  `The body has more than ${MAX_PRICED_MEMBERS} different settings and tools that cost money of their own.`,
)

function firstUnpriced(request: ModelRequest, { price, extraMembers }: Model): string | undefined {
  for (const member of request.uncovered.slice(0, MAX_PRICED_MEMBERS))
    if (!isAllowed(member, extraMembers) && !isPriced(member, request, price)) return member
  return undefined
}

/** The failure for a tool with a price whose number of uses is not bounded; null if there is none. */
function unboundedTool({ uses }: ModelRequest, { id, price }: Model): Failure | null {
  for (const name in uses)
    if (uses[name] === null && !isUnitPrice(price) && isSoldTool(price, name))
      return failure('missing_parameter', `${id} needs max_uses for ${name}, because each use costs money.`, {
        param: `tools.${name}.max_uses`,
      })
  return null
}

/** Whether an entry names the property, or one that it is in. */
function isAllowed(member: string, allowed: readonly string[]): boolean {
  return allowed.some((name) => member === name || member.startsWith(`${name}.`))
}

const TIER = /^(?:service_tier|serviceTier|speed)\.(.+)$/
const TOOL = /^(?:tools|tool_choice)\.(.+)$/

function isPriced(member: string, { uses }: ModelRequest, price: ModelPrice): boolean {
  if (isUnitPrice(price)) return false
  const part = pricedPart(member)
  if (part !== null) return price.every(({ rates }) => rates[part] !== undefined)
  const wanted = TIER.exec(member)?.[1]
  if (wanted !== undefined) return price.some(({ tier }) => tier === wanted)
  const tool = undatedTool(TOOL.exec(member)?.[1] ?? '')
  // Without a bound of its uses there is no maximum to hold.
  return uses !== undefined && Object.hasOwn(uses, tool) && isSoldTool(price, tool)
}

/** More uses of a tool in one call are not bounded in a way that helps anybody. */
const MAX_TOOL_USES = 1000

/** A caller's limit for the uses of a tool; null if it is none. */
export function toolLimit(value: unknown): number | null {
  const most = positive(value) ?? null
  return most !== null && most <= MAX_TOOL_USES ? most : null
}

/** `web_search` of `web_search_20250305` and `web_search_2025_08_26`. */
export function undatedTool(type: string): string {
  return type.replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2})$/, '')
}

const NO_PARTS: readonly TokenPart[] = []

/** The parts with a price of their own that a call asks for. */
export function partsAsked({ uncovered }: Pick<ModelRequest, 'uncovered'>): readonly TokenPart[] {
  if (uncovered.length === 0) return NO_PARTS
  return uncovered.map(pricedPart).filter((part) => part !== null)
}

/** The request as it is sent: without tools that are switched off, unless the model's entry names or prices them. */
export function withoutOffTools(request: ModelRequest, model: Model): ModelRequest {
  const { withoutOffTools: without } = request
  if (!without || isAllowed(without.path, model.extraMembers) || isPriced(without.path, request, model.price))
    return request
  const { bytes, members, count } = without
  return { ...request, bytes, members, vendorTools: (request.vendorTools ?? 0) - count }
}

/** A whole number above 0; null if absent; undefined if it is anything else. */
export function positive(value: unknown): number | null | undefined {
  if (value === undefined || value === null) return null
  return Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= 100_000_000 ? Number(value) : undefined
}

export function sumOfParts(parts: Iterable<InputParts>): InputParts {
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

/** `data` is the base64 text of the image. Data that is not a string counts as text, too. */
export function imagePart(data: unknown): InputParts {
  const isData = typeof data === 'string' && /^[A-Za-z0-9+/_-]*={0,2}$/.test(data)
  return { images: 1, imageBytes: isData ? data.length : 0, opaque: 0 }
}
