import { type Failure, failure } from '../../core/failure'
import type { Subject } from '../../core/limits/limiter'
import { isOnRoute, type Model, type ModelBuyer, type ModelRoute, routesOf } from '../../core/models/model'
import { costOfLines } from '../../core/models/token-price'
import {
  type CountAsked,
  isUnitPrice,
  pricedUnits,
  type UnitPrice,
  type UnitsAsked,
} from '../../core/models/unit-price'
import { ZERO } from '../../core/money'
import { err, ok, type Result } from '../../core/result'
import { windowOf } from '../auth/authenticate'
import { type AuthenticatedCall, countedOn, type KnownCaller } from '../call'
import type { Load } from '../work'
import { unknownItem } from './item-references'
import type { ModelCall, ModelDeps, ValidatedCall } from './model-call'
import { removedBetas, unknownVersion } from './wires/anthropic/betas'
import {
  boundsOf,
  isSoldTool,
  type ModelRequest,
  maxCallCost,
  type TokenBounds,
  unpricedMember,
  withoutOffTools,
} from './wires/model-request'
import { type ModelWire, serves, type WirePath } from './wires/model-wire'

/** Validates a parsed model call: its models and its bounds. Reserves nothing. */
export function validateModelCall(deps: ModelDeps, call: ModelCall): Result<ValidatedCall, Failure> {
  const { caller } = call.authenticated
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller passed to a model')
  const sold = soldModel(deps, caller, call.request.model, call.wire.route)
  if (isKnownModel(sold)) call.onModel(call.request.model)
  if (!sold.ok) return sold
  const model = sold.value
  const version = unknownVersion(call.headers)
  if (version) return err(version)
  call.onRemovedBetas(removedBetas(call.headers['anthropic-beta'], model.betas))
  const first = callAt(deps, call, model)
  const ids = call.fallback ?? model.fallback
  return first.ok && ids.length > 0 ? withFallbacks(deps, call, first.value, ids) : first
}

/**
 * The call with the models that may serve it instead. One of its entry that cannot is left out: because this caller may not call it, it has no
 * price for a member of the body, it has a quota of its own, or it needs a top-up, which the first one does not. One that the caller names
 * fails the call.
 */
function withFallbacks(
  deps: ModelDeps,
  call: ModelCall,
  first: ValidatedCall,
  ids: readonly string[],
): Result<ValidatedCall, Failure> {
  const { caller } = call.authenticated
  const fallbacks: ValidatedCall[] = []
  for (const id of ids) {
    if (id === first.model.id) continue
    const sold = caller.kind === 'anonymous' ? null : soldModel(deps, caller, id, call.wire.route)
    const other = sold?.ok ? (besides(first.model, sold.value) ?? callAt(deps, call, sold.value)) : sold
    if (other?.ok) {
      const isStricter = other.value.model.rechargeRequired && !first.model.rechargeRequired
      if (call.fallback !== null || !isStricter) fallbacks.push(other.value)
    } else if (other && call.fallback !== null) return err({ ...other.error, param: FALLBACK_HEADER })
  }
  return ok({ ...first, fallbacks })
}

/** The failure of a fallback whose requests would not count in its own family's window; null if they count in the same one, or in none. */
function besides(first: Model, { id, family }: Model): Result<never, Failure> | null {
  if (family === null || family.name === first.family?.name) return null
  return err(
    failure('invalid_parameter', `${id} has a quota of its own, so it serves only calls that name it as their model.`),
  )
}

/** The header in which a caller names models that may serve a call instead. */
export const FALLBACK_HEADER = 'x-fallback-models'

/** The call at one of the models that may serve it. */
function callAt(deps: ModelDeps, call: ModelCall, model: Model): Result<ValidatedCall, Failure> {
  const { authenticated, wire } = call
  const request = withDefaults(withoutOffTools(call.request, model), wire, model)
  const bounded = boundedCall(deps, wire, request, model)
  if (!bounded.ok) return bounded
  const { cap, bounds, maxCost, unitLines, unitDefaults } = bounded.value
  const load = modelLoad(authenticated, model)
  const { subjects } = load
  const output = reservedOutput(request, model, bounds, subjects)
  const tooMany = exceedsMinute(bounds.input.likely, output, subjects)
  if (tooMany) return err(tooMany)
  const complete = unitLines ? { ...request, defaults: unitDefaults } : request
  return ok({
    call,
    request: complete,
    model,
    cap,
    bounds,
    maxCost,
    unitLines,
    load: { ...load, tokens: bounds.input.likely + output },
  })
}

/** What a call loads besides tokens: the windows of its caller and of the model's family, and its upstreams. */
export function modelLoad({ caller, subjects }: AuthenticatedCall, { family, upstreams }: Model): Omit<Load, 'tokens'> {
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller passed to a model')
  const window = family ? windowOf(countedOn(caller).id, family) : null
  return { subjects: window ? [...subjects, window] : subjects, window, upstreams }
}

interface BoundedCall extends Pick<ValidatedCall, 'cap' | 'bounds' | 'maxCost' | 'unitLines'> {
  /** The size and quality to set, because the caller named none. */
  readonly unitDefaults: Readonly<Record<string, string>>
}

interface CallToEstimate {
  readonly wire: ModelWire
  readonly path: WirePath
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly buyer: ModelBuyer
}

/** The bounds of a body for any key of an account. Reserves nothing and calls no upstream. */
export function estimateModelCall(
  deps: Pick<ModelDeps, 'catalog' | 'defaultCap'>,
  { wire, path, bytes, buyer }: CallToEstimate,
): Result<BoundedCall & { readonly model: Model }, Failure> {
  const read = wire.read(bytes, path)
  if (!read.ok) return read
  const model = deps.catalog.forBuyer(read.value.model, buyer)
  if (!model) return err(unknownModel(read.value.model))
  const spoken = onRoute(model, wire.route)
  if (!spoken.ok) return spoken
  const at = (one: Model) => boundedCall(deps, wire, withDefaults(withoutOffTools(read.value, one), wire, one), one)
  const bounded = at(model)
  if (!bounded.ok) return bounded
  let { maxCost } = bounded.value
  for (const id of model.fallback) {
    const other = deps.catalog.forBuyer(id, buyer)
    const most = other && isOnRoute(other, wire.route) ? at(other) : null
    if (most?.ok && most.value.maxCost > maxCost) maxCost = most.value.maxCost
  }
  return ok({ ...bounded.value, maxCost, model })
}

const NO_TOKENS: TokenBounds = { input: { max: 0, likely: 0 }, output: 0 }
const NO_TOKEN_CALL = { cap: 0, bounds: NO_TOKENS }
const NO_DEFAULTS = {}

function boundedCall(
  deps: Pick<ModelDeps, 'defaultCap'>,
  wire: ModelWire,
  request: ModelRequest,
  model: Model,
): Result<BoundedCall, Failure> {
  if (request.isFree) return ok({ ...NO_TOKEN_CALL, maxCost: ZERO, unitLines: null, unitDefaults: NO_DEFAULTS })
  const own = unpricedMember(request, model) ?? untranslatable(wire, request, model)
  if (own) return err(own)
  const [unresolved] = request.references ?? []
  if (unresolved) return err(unknownItem(unresolved.id))
  if (request.units && isUnitPrice(model.price)) return unitCall(request.units, model.price, model)
  const cap = request.cap ?? defaultCap(deps, model)
  const bounds = boundsOf(request, model, cap)
  if (!bounds)
    return err(
      failure(
        'unsupported_parameter',
        `${model.id} does not accept files, audio or video here: its context_tokens are not configured, so their maximum cost is unknown.`,
      ),
    )
  return ok({
    cap,
    bounds,
    unitLines: null,
    unitDefaults: NO_DEFAULTS,
    maxCost: maxCallCost(request, model, bounds),
  })
}

const USUAL_TIER = { service_tier: 'default' }
/** The uses of the vendor's tools, in a call that does not limit them. */
const USUAL_TOOL_CALLS = 8

/**
 * The request with what the gateway sets because the price depends on it: the usual tier, which a project's settings at the vendor
 * may replace by another one, and a limit for the uses of tools where the format has one for the whole call.
 */
export function withDefaults(
  request: ModelRequest,
  { route }: Pick<ModelWire, 'route'>,
  { price }: Model,
): ModelRequest {
  if (isUnitPrice(price)) return request
  let { uses, defaults } = request
  if (request.tier === null) for (const { tier } of price) if (tier !== undefined) defaults = USUAL_TIER
  if (route === 'responses')
    for (const name in uses)
      if (uses[name] === null && isSoldTool(price, name)) {
        uses = { [name]: USUAL_TOOL_CALLS }
        defaults = { ...defaults, max_tool_calls: USUAL_TOOL_CALLS }
      }
  return defaults === request.defaults ? request : { ...request, ...(uses && { uses }), ...(defaults && { defaults }) }
}

/** A call of a model that is not charged by tokens, which knows its cost. */
function unitCall(asked: UnitsAsked, price: UnitPrice, model: Model): Result<BoundedCall, Failure> {
  const bounded = asked.unit === 'second' ? boundedSound(asked, model) : ok(asked)
  if (!bounded.ok) return bounded
  const priced = pricedUnits(price, bounded.value)
  if (priced) {
    const { lines, defaults } = priced
    return ok({ ...NO_TOKEN_CALL, maxCost: costOfLines(lines), unitLines: lines, unitDefaults: defaults })
  }
  const isSizeKnown = asked.unit === 'image' && pricedUnits(price, { ...asked, quality: null }) !== null
  return err(
    failure(
      'unsupported_parameter',
      `${model.id} has no price for this size and quality. GET /v1/models lists those that it has.`,
      { param: isSizeKnown ? 'quality' : 'size' },
    ),
  )
}

/** Sound of at most the length that the model's entry allows, which is held for a file that does not tell its own. */
function boundedSound(sound: CountAsked, { id, maxSeconds }: Model): Result<CountAsked, Failure> {
  const count = sound.count ?? maxSeconds
  if (count === undefined) return err(unknownLength(id))
  return maxSeconds !== undefined && count > maxSeconds + 1 ? err(tooLong(id, maxSeconds)) : ok({ ...sound, count })
}

function unknownLength(id: string): Failure {
  return failure(
    'unsupported_parameter',
    `${id} does not accept this file, because its bytes do not tell how long it is. Send a WAV or MP3 file, or ask the operator to set max_seconds in the model's entry.`,
    { param: 'file' },
  )
}

function tooLong(id: string, maxSeconds: number): Failure {
  return failure('invalid_parameter', `${id} accepts sound of at most ${maxSeconds} seconds.`, { param: 'file' })
}

/** The failure for the first setting that no upstream of the model accepts; null if there is none. */
function untranslatable(wire: ModelWire, request: ModelRequest, model: Model): Failure | null {
  const param = request.chat?.beyond ?? null
  if (param === null || model.upstreams.some((upstream) => serves(upstream, wire, request))) return null
  return failure(
    'unsupported_parameter',
    `${param} is not available for ${model.id}: its upstream supports chat completions only, which have no such parameter. Remove it and send the request again.`,
    { param },
  )
}

/** The model with this id, if the caller may call it on this route. */
export function soldModel(
  { catalog }: Pick<ModelDeps, 'catalog'>,
  caller: KnownCaller,
  id: string,
  route: ModelRoute,
): Result<Model, Failure> {
  const model = catalog.forBuyer(id, caller)
  if (!model) return err(unknownModel(id))
  const allowedModels = caller.kind === 'key' ? caller.key.allowedModels : []
  if (allowedModels.length > 0 && !allowedModels.includes(model.id))
    return err(
      failure('model_not_allowed', `${model.id} is not in this key's list of allowed models.`, { param: 'model' }),
    )
  return onRoute(model, route)
}

function onRoute(model: Model, route: ModelRoute): Result<Model, Failure> {
  if (isOnRoute(model, route)) return ok(model)
  const routes = routesOf(model)
  return err(
    failure('model_route_not_supported', `${model.id} is not available on this route. Use ${routes.join(', ')}.`, {
      param: 'model',
    }),
  )
}

function unknownModel(id: string): Failure {
  return failure(
    'unknown_model',
    `There is no model "${id.slice(0, 80)}". GET /v1/models lists the available models.`,
    {
      param: 'model',
    },
  )
}

/** Whether the model exists, even if not for this caller or on this route. Model names that callers make up are not logged. */
export function isKnownModel(sold: Result<Model, Failure>): boolean {
  return sold.ok || sold.error.code !== 'unknown_model'
}

function defaultCap(deps: Pick<ModelDeps, 'defaultCap'>, model: Model): number {
  const cap = model.defaultOutputTokens ?? deps.defaultCap
  return Math.min(cap, model.maxOutputTokens ?? cap)
}

/** The part of a minute's tokens that the output of one call reserves if its cap says nothing about its length. */
const UNSURE_SHARE = 4

/**
 * The output to reserve in the token window. Many clients send the model's own maximum as their cap, tens of thousands of tokens that
 * hardly any answer has; such a cap reserves a share of the minute instead. The real count replaces it when the call ends.
 */
function reservedOutput(
  { cap }: Pick<ModelRequest, 'cap'>,
  { maxOutputTokens }: Model,
  { output }: TokenBounds,
  subjects: readonly Subject[],
): number {
  if (cap === null || maxOutputTokens === null || cap > maxOutputTokens) return output
  return Math.min(output, Math.floor(minuteOf(subjects) / UNSURE_SHARE))
}

function minuteOf(subjects: readonly Subject[]): number {
  let least = Number.POSITIVE_INFINITY
  for (const { limits } of subjects) least = Math.min(least, limits.tpm)
  return least
}

/** A call that no minute has room for fails as invalid, since a 429 would invite retries that can never succeed (spec D8). */
export function exceedsMinute(input: number, output: number, subjects: readonly Subject[]): Failure | null {
  const minute = minuteOf(subjects)
  if (input + output <= minute) return null
  return failure(
    'max_tokens_exceeded',
    `About ${input} input tokens plus an output cap of ${output} exceed the limit of ${minute} tokens per minute. Lower the cap.`,
  )
}
