import type { ModelOperationName } from '../../core/catalog/operation'
import { type Failure, failure, uncharged, wrongParameters } from '../../core/failure'
import { BODY_BOUNDS, beyondBounds, JsonScan } from '../../core/json-bounds'
import { MAX_FALLBACKS } from '../../core/models/model-file-schema'
import { digestOf, fingerprintOf } from '../../core/payments/binding'
import { err, ok, type Result } from '../../core/result'
import { type AuthenticatedCall, type Outcome, refusedOutcome } from '../../pipeline/call'
import type { Allowance } from '../../pipeline/decisions'
import type { BodyReader, ReadModelBody } from '../../pipeline/models/body-reader'
import { resolvedItems } from '../../pipeline/models/item-references'
import type { ModelCall, ModelDeps } from '../../pipeline/models/model-call'
import { modelWork } from '../../pipeline/models/model-work'
import { estimateModelCall, FALLBACK_HEADER } from '../../pipeline/models/validate-model-call'
import type { ModelRequest } from '../../pipeline/models/wires/model-request'
import type { ModelWire, WirePath } from '../../pipeline/models/wires/model-wire'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
import type { Work } from '../../pipeline/work'
import { readCallOptions } from '../middleware/input/call-options'
import { type BodyTerms, type TakenBody, takeBody } from '../middleware/input/intake'
import { formBoundary, readJsonChunks } from '../middleware/input/json-body'
import type { GatedContext } from '../middleware/request-context'

/** Maximum size of a model call's body (spec D2). */
const MAX_BODY_BYTES = 32 * 1024 * 1024
const BODY_DEADLINE_MS = 300_000
/** Caller headers that are forwarded to vendors. */
const FORWARDED_HEADERS = ['anthropic-version', 'anthropic-beta']

/** The operation and wire format behind one path. */
export interface ModelTarget {
  readonly operation: ModelOperationName
  readonly wire: ModelWire
  readonly path: WirePath
}

/** Sells model calls: reads the body as bytes, and runs the call through the pipeline. */
export class ModelCalls {
  private readonly pipeline: PipelineDeps
  private readonly deps: ModelDeps
  private readonly bodies: BodyReader

  constructor(pipeline: PipelineDeps, deps: ModelDeps, bodies: BodyReader) {
    this.pipeline = pipeline
    this.deps = deps
    this.bodies = bodies
  }

  /** The maximum cost of a call with this body. Calls no vendor, charges nothing and records nothing. */
  estimate(call: Parameters<typeof estimateModelCall>[1]) {
    return estimateModelCall(this.deps, call)
  }

  /** Answers an authenticated call: takes a concurrency slot, reads the body, then runs the call. */
  answer(context: GatedContext, target: ModelTarget): Outcome | Promise<Outcome> {
    const { authenticated, hangUp } = context
    // Long uploads and slow models are not idle connections; both have their own deadlines.
    context.allowSilence()
    const options = readCallOptions(context)
    if (!options.ok) return refusedOutcome(wrongParameters(options.error))
    const call = { authenticated, options: options.value, hangUp }
    return runPaidCall(this.pipeline, call, (allowance) => this.work(context, target, allowance))
  }

  private async work(
    context: GatedContext,
    target: ModelTarget,
    allowance: Pick<Allowance, 'with'>,
  ): Promise<Result<Work, Failure>> {
    const boundary = target.wire.isForm ? formBoundary(context.request.headers) : undefined
    if (boundary === null) return err(NO_FORM)
    const taken = await (boundary === undefined
      ? readJsonChunks(context, MAX_BODY_BYTES, BODY_DEADLINE_MS)
      : takeBody(context, FORM_TERMS))
    if (!taken.ok) return taken
    const body = taken.value
    allowance.with(givingBack(body))
    if (body.byteLength === 0) return err(failure('invalid_request', 'The body is missing. Send a JSON object.'))
    const path = boundary === undefined ? target.path : { ...target.path, boundary }
    const reading = this.bodies.read(target.wire, body, path)
    const sent = reading instanceof Promise ? await reading : reading
    if (!sent.ok) return sent
    const read = sent.value.request.references?.length ? await this.resolved(context, target, sent.value) : sent
    if (!read.ok) return read
    const fallback = fallbackModels(context)
    return fallback.ok ? modelWork(this.deps, new HttpModelCall(context, target, read.value, fallback.value)) : fallback
  }

  /** The body with the items that it refers to. Its digest is that of the body as sent, which a repeat has, too. */
  private async resolved(
    { authenticated }: GatedContext,
    { wire, path }: ModelTarget,
    { request, digest }: ReadModelBody,
  ): Promise<Result<ReadModelBody, Failure>> {
    const sent = digest ?? digestOf(request.bytes)
    const ids = (request.references ?? []).map(({ id }) => id)
    const known = await this.deps.items.recall(authenticated, ids)
    if (known === null) return err(NO_ITEMS)
    const bytes = resolvedItems(request, known)
    if (!bytes.ok) return bytes
    const scan = new JsonScan(BODY_BOUNDS)
    if (!scan.push(bytes.value)) return err(failure('invalid_request', beyondBounds(BODY_BOUNDS)))
    const whole = await this.bodies.read(wire, { chunks: [bytes.value], parts: scan.partsSoFar }, path)
    return whole.ok ? ok({ ...whole.value, digest: sent }) : whole
  }
}

/** `parts`: it is not JSON, so there are none. */
const FORM_TERMS: BodyTerms = { maxBytes: MAX_BODY_BYTES, maxMs: BODY_DEADLINE_MS, parts: 0, check: () => null }
const NO_FORM = failure(
  'unsupported_media_type',
  'The body must be a form, sent with Content-Type: multipart/form-data and its boundary.',
)

const NO_ITEMS = uncharged('service_unavailable', 'Earlier items cannot be read at the moment. Try again.', {
  retryAfterSeconds: 1,
})

function givingBack(body: TakenBody): () => void {
  return () => body.giveBack()
}

const NO_HEADERS = {}

/** A model call over HTTP whose body was parsed. */
class HttpModelCall implements ModelCall {
  readonly authenticated: AuthenticatedCall
  readonly operation: ModelOperationName
  readonly wire: ModelWire
  readonly path: WirePath
  readonly request: ModelRequest
  readonly headers: Readonly<Record<string, string>>
  readonly fallback: readonly string[] | null
  readonly cacheControl: string
  private readonly context: GatedContext
  private readonly digest: string | null

  constructor(
    context: GatedContext,
    { operation, wire, path }: ModelTarget,
    { request, digest }: ReadModelBody,
    fallback: readonly string[] | null,
  ) {
    this.authenticated = context.authenticated
    this.operation = operation
    this.wire = wire
    this.path = path
    this.request = request
    this.headers = forwardedHeaders(context)
    this.fallback = fallback
    this.cacheControl = context.header('cache-control') ?? ''
    this.context = context
    this.digest = digest
  }

  fingerprint(): string {
    const { context, path, headers, digest, request, fallback } = this
    // Compared byte for byte: the gateway cannot know which vendor bodies are equivalent.
    const input = { path, headers, body: digest ?? digestOf(request.bytes), ...(fallback && { fallback }) }
    return fingerprintOf({ method: context.method, path: context.path, query: [], input })
  }

  onModel(model: string): void {
    this.context.reply.about(model)
  }

  onRemovedBetas(names: readonly string[]): void {
    this.context.reply.removedBetas(names)
  }

  failureJson(problem: Failure): string {
    return this.context.reply.failureJson(problem)
  }
}

/** The models that the caller names to serve a call that its model cannot; null if it names none. */
function fallbackModels(context: GatedContext): Result<readonly string[] | null, Failure> {
  const header = context.header(FALLBACK_HEADER)
  if (header === null) return NO_NAMES
  const ids = header.split(',').map((id) => id.trim())
  if (ids.length <= MAX_FALLBACKS && ids.every((id) => id !== '')) return ok([...new Set(ids)])
  const rule = `must be the ids of at most ${MAX_FALLBACKS} models, separated by commas`
  return err(failure('invalid_parameter', `${FALLBACK_HEADER} ${rule}`, { param: FALLBACK_HEADER }))
}

const NO_NAMES = ok(null)

function forwardedHeaders(context: GatedContext): Readonly<Record<string, string>> {
  let found: Record<string, string> | null = null
  for (const name of FORWARDED_HEADERS) {
    const value = context.header(name)
    if (value === null) continue
    found ??= {}
    found[name] = value
  }
  return found ?? NO_HEADERS
}
