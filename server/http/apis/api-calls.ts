import { isJsonBody } from '../../core/apis/api'
import type { ApiMatch } from '../../core/apis/api-routes'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import type { ApiInput, ApiInputs, FormFields, SentBody } from '../../pipeline/apis/api-input'
import { type ApiDeps, apiWork } from '../../pipeline/apis/api-work'
import { soldPrice } from '../../pipeline/apis/sold-price'
import { HOPS_HEADER } from '../../pipeline/apis/upstream-request'
import { type Outcome, refusedOutcome } from '../../pipeline/call'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
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

  constructor(deps: PipelineDeps, apis: ApiDeps, inputs: ApiInputs) {
    this.deps = deps
    this.apis = apis
    this.inputs = inputs
  }

  /** Answers an HTTP request that was authenticated for an imported operation. */
  answer(context: GatedContext, match: ApiMatch): Outcome | Promise<Outcome> {
    const { method, search } = context
    const read = (body: SentBody) => {
      const header = (name: string) => context.header(name)
      const input = this.inputs.read(match, { query: queryValues(search), header, body })
      return input.ok ? input : err(wrongParameters(input.error))
    }
    if (method === 'GET' || method === 'HEAD') return this.run(context, match, () => read(NO_BODY))
    return this.run(context, match, async () => {
      const body = await sentBody(context, match)
      return body.ok ? read(body.value) : body
    })
  }

  /** Answers a tool call, whose input is JSON by parameter name. */
  answerTool(
    call: ApiCallRequest,
    match: ApiMatch,
    values: Readonly<Record<string, unknown>>,
  ): Outcome | Promise<Outcome> {
    return this.run(call, match, () => {
      const read = this.inputs.readJson(match, values)
      return read.ok ? read : err(wrongParameters(read.error))
    })
  }

  private run(
    request: ApiCallRequest,
    match: ApiMatch,
    read: () => Result<ApiInput, Failure> | Promise<Result<ApiInput, Failure>>,
  ): Outcome | Promise<Outcome> {
    const { authenticated, hangUp } = request
    const options = readCallOptions(request)
    if (!options.ok) return refusedOutcome(wrongParameters(options.error))
    const workOf = (input: Result<ApiInput, Failure>) => {
      if (!input.ok) return input
      const { caller } = authenticated
      const price = soldPrice(this.deps.prices, match, caller.kind === 'anonymous' ? null : caller.account.id)
      return apiWork(
        this.apis,
        { match, input: input.value, price, hops: hopsIn(request.header(HOPS_HEADER)) },
        authenticated,
      )
    }
    const prepare = () => {
      const input = read()
      return input instanceof Promise ? input.then(workOf) : workOf(input)
    }
    // It may be slow, so it takes one of the caller's slots, before its body is read.
    const call = { authenticated, options: options.value, hangUp, takesSlot: true }
    return runPaidCall(this.deps, call, prepare)
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
