import { isJsonBody } from '../../core/apis/api'
import type { ApiMatch } from '../../core/apis/api-routes'
import type { ApiRegistry } from '../../core/apis/api-store'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import type { ApiInputs, FormFields, SentBody, SentRequest } from '../../pipeline/apis/api-input'
import { soldPrice } from '../../pipeline/apis/api-sale'
import { type ApiDeps, apiWork } from '../../pipeline/apis/api-work'
import { HOPS_HEADER } from '../../pipeline/apis/upstream-request'
import { type Outcome, refusedOutcome } from '../../pipeline/call'
import { type PipelineDeps, type PrepareWork, runPaidCall } from '../../pipeline/paid-call'
import type { Work } from '../../pipeline/work'
import { readCallOptions } from '../middleware/input/call-options'
import { withTakenBody } from '../middleware/input/json-body'
import { queryValues } from '../middleware/input/query-values'
import type { CallRequest } from '../middleware/priced'
import type { GatedContext } from '../middleware/request-context'

/** Maximum size of the body of a multipart form, and of any other. */
const MAX_FORM_BYTES = 16 * 1024 * 1024
const MAX_BODY_BYTES = 1024 * 1024

const NO_BODY: SentBody = { kind: 'none' }

/** A call of an imported operation whose input is not validated yet. */
type ApiCallRequest = Pick<CallRequest, 'authenticated' | 'hangUp' | 'header'>

/** Sells imported operations (spec D12): validates the whole input, and runs the call through the pipeline. */
export class ApiCalls {
  private readonly deps: PipelineDeps
  private readonly apis: ApiDeps
  private readonly inputs: ApiInputs
  private readonly registry: Pick<ApiRegistry, 'routes'>

  constructor(deps: PipelineDeps, apis: ApiDeps, inputs: ApiInputs, registry: Pick<ApiRegistry, 'routes'>) {
    this.deps = deps
    this.apis = apis
    this.inputs = inputs
    this.registry = registry
  }

  /** Answers an HTTP request that was authenticated for an imported operation. */
  answer(context: GatedContext, match: ApiMatch): Outcome | Promise<Outcome> {
    const { method } = context
    if (method === 'GET' || method === 'HEAD')
      return this.run(context, () => this.work(context, match, new Sent(context, NO_BODY)))
    return this.run(context, async () => {
      const body = await sentBody(context, match)
      return body.ok ? this.work(context, match, new Sent(context, body.value)) : body
    })
  }

  /** Answers a tool call, whose input is JSON by parameter name. */
  answerTool(
    call: ApiCallRequest,
    match: ApiMatch,
    values: Readonly<Record<string, unknown>>,
  ): Outcome | Promise<Outcome> {
    return this.run(call, () => this.work(call, match, new GivenValues(values)))
  }

  private run(request: ApiCallRequest, prepare: PrepareWork): Outcome | Promise<Outcome> {
    const options = readCallOptions(request)
    if (!options.ok) return refusedOutcome(wrongParameters(options.error))
    const { authenticated, hangUp } = request
    return runPaidCall(this.deps, { authenticated, options: options.value, hangUp }, prepare)
  }

  private work(request: ApiCallRequest, match: ApiMatch, given: GivenInput): Result<Work, Failure> {
    const input = given.read(this.inputs, match)
    if (!input.ok) return err(wrongParameters(input.error))
    const { authenticated } = request
    const { caller } = authenticated
    const price = soldPrice(this.deps.prices, match, caller.kind === 'anonymous' ? null : caller.account.id)
    const hops = hopsIn(request.header(HOPS_HEADER))
    const requote = () => this.work(request, this.nowSold(match), given)
    return apiWork(this.apis, { match, input: input.value, price, requote, hops }, authenticated)
  }

  /** The match as its API is now; the same if its path is not that of the request any more. */
  private nowSold(match: ApiMatch): ApiMatch {
    const { name, method, path } = match.operation
    const sold = this.registry.routes.byName(name)
    const isSame = sold?.operation.method === method && sold.operation.path === path
    return isSame ? { ...sold, values: match.values } : match
  }
}

/** The input of a call, which is read again if its operation changes before it is sold. */
interface GivenInput {
  read(inputs: ApiInputs, match: ApiMatch): ReturnType<ApiInputs['read']>
}

class GivenValues implements GivenInput {
  private readonly values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values
  }

  read(inputs: ApiInputs, match: ApiMatch): ReturnType<ApiInputs['read']> {
    return inputs.readJson(match, this.values)
  }
}

/** What a request sends to an operation. */
class Sent implements SentRequest, GivenInput {
  readonly query: SentRequest['query']
  readonly body: SentBody
  private readonly context: GatedContext

  constructor(context: GatedContext, body: SentBody) {
    this.query = queryValues(context.search)
    this.body = body
    this.context = context
  }

  read(inputs: ApiInputs, match: ApiMatch): ReturnType<ApiInputs['read']> {
    return inputs.read(match, this)
  }

  header(name: string): string | null {
    return this.context.header(name)
  }
}

function hopsIn(text: string | null): number {
  return text !== null && /^\d{1,4}$/.test(text) ? Number(text) : 0
}

async function sentBody(context: GatedContext, { operation }: ApiMatch): Promise<Result<SentBody, Failure>> {
  const type = context.request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const isForm = type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded'
  const declared = operation.body?.contentType
  const taken = await withTakenBody(context, declared === 'multipart/form-data' ? MAX_FORM_BYTES : MAX_BODY_BYTES)
  if (!taken.ok) return taken
  const request = taken.value
  if (!request.body) return ok(NO_BODY)
  if (
    declared !== undefined &&
    (isForm || isJsonType(type)) &&
    (isForm ? type === declared : isJsonBody({ contentType: declared }))
  )
    return isForm ? formBody(request) : jsonBody(request)
  const wanted = declared === undefined ? 'This operation takes no body.' : `The body must be ${declared}.`
  return err(failure(declared === undefined ? 'invalid_request' : 'unsupported_media_type', wanted))
}

async function jsonBody(request: Request): Promise<Result<SentBody, Failure>> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await request.arrayBuffer())
    if (text === '') return ok(NO_BODY)
    const value: unknown = JSON.parse(text)
    return ok({ kind: 'json', value, text })
  } catch {
    return err(failure('json_parse_error', 'The body is not valid JSON in UTF-8.'))
  }
}

async function formBody(request: Request): Promise<Result<SentBody, Failure>> {
  try {
    const form = await request.formData()
    const fields = await Promise.all(
      [...form].map(async ([name, value]): Promise<FormFields[number]> => {
        if (typeof value === 'string') return [name, value]
        return [name, { name: value.name, type: value.type, bytes: new Uint8Array(await value.arrayBuffer()) }]
      }),
    )
    return ok({ kind: 'form', fields })
  } catch {
    return err(failure('invalid_request', 'The body is not a valid form.'))
  }
}

function isJsonType(type: string): boolean {
  return type === 'application/json' || /^application\/[\w.+-]+\+json$/.test(type)
}
