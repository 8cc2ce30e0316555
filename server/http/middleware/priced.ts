import { IMAGE_SEARCH, type ImageSearchInput } from '../../core/catalog/image-search'
import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalog/llm-context'
import { type Operation, type OperationName, parseInput } from '../../core/catalog/operation'
import type { Parameters, ParameterTable, RawInput } from '../../core/catalog/parameters'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import { isJson } from '../../core/json'
import { fingerprintOf } from '../../core/payments/binding'
import type { Provider } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import { type AuthenticatedCall, quoteOf } from '../../pipeline/call'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
import { providerWork } from '../../pipeline/provider-work'
import { SOCIAL_SALES, type SocialParts } from '../../pipeline/social/social-actions'
import type { Work } from '../../pipeline/work'
import { readCallOptions } from './input/call-options'
import { readJson } from './input/json-body'
import { queryValues } from './input/query-values'
import type { GatedContext } from './request-context'
import type { Reply } from './response/reply'

const NONE: readonly string[] = []

/** The operation that one route sells, and the headers of its successful responses. */
export interface PricedRoute<T extends ParameterTable = ParameterTable> {
  readonly operation: Operation<T>
  /** A provider, or a function that makes one for the key of the call. */
  readonly provider: Provider<Parameters<T>> | ((authenticated: AuthenticatedCall) => Provider<Parameters<T>>)
  headers?(input: Parameters<T>): Record<string, string>
}

/** Providers of the data endpoints. */
export interface DataProviders {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
}

/** All catalog operations with their providers, for HTTP and MCP alike. */
export function pricedRoutes(
  { images, context }: DataProviders,
  social: SocialParts | null,
): ReadonlyMap<OperationName, PricedRoute> {
  const headers = (input: { readonly 'api-version': string }) => ({ 'api-version': input['api-version'] })
  const imageSearch: PricedRoute<typeof IMAGE_SEARCH.parameters> = {
    operation: IMAGE_SEARCH,
    provider: images,
    headers,
  }
  const llmContext: PricedRoute<typeof LLM_CONTEXT.parameters> = { operation: LLM_CONTEXT, provider: context, headers }
  const actions = SOCIAL_SALES.map(
    ({ operation, provider }): PricedRoute => ({
      operation,
      provider: (authenticated) => provider(social, authenticated),
    }),
  )
  const all: readonly PricedRoute[] = [imageSearch, llmContext, ...actions]
  return new Map(all.map((route) => [route.operation.name, route]))
}

/** The input of a priced call, from an HTTP request or an MCP tool call. */
export interface CallRequest {
  readonly reply: Reply
  readonly authenticated: AuthenticatedCall
  readonly method: string
  readonly url: URL
  readonly hangUp: AbortSignal
  header(name: string): string | null
  /** The JSON body; undefined if there is none. */
  body(): Promise<Result<unknown, Failure>>
}

export function callRequestOf(context: GatedContext): CallRequest {
  const { request, reply, authenticated, url } = context
  return {
    reply,
    authenticated,
    url,
    method: request.method,
    hangUp: request.signal,
    header: (name) => request.headers.get(name),
    body: () => readJson(context),
  }
}

/** Sells the catalog operations: validates the whole input, runs the call through the pipeline, and replies. */
export class PricedCalls {
  private readonly deps: PipelineDeps
  private readonly routes: ReadonlyMap<OperationName, PricedRoute>

  constructor(deps: PipelineDeps, routes: ReadonlyMap<OperationName, PricedRoute>) {
    this.deps = deps
    this.routes = routes
  }

  /** Answers an authenticated call. Lists all input errors at once. */
  async answer(request: CallRequest, name: OperationName): Promise<Response> {
    const { reply, authenticated, hangUp } = request
    const route = this.routes.get(name)
    if (!route) throw new Error(`no route serves ${name}`)
    if (!admitsJson(request.header('accept')))
      return reply.refuse(failure('not_acceptable', 'This endpoint returns JSON only. Accept application/json or */*.'))
    const raw = await rawInput(request)
    if (!raw.ok) return reply.refuse(raw.error)
    const { operation } = route
    const parsed = parseInput(operation, raw.value)
    const options = readCallOptions(raw.value.header)
    if (!parsed.ok || !options.ok)
      return reply.refuse(wrongParameters([...(parsed.ok ? [] : parsed.error), ...(options.ok ? [] : options.error)]))
    const work = ok(this.work(request, route, parsed.value))
    const call = { authenticated, options: options.value, hangUp, takesSlot: operation.takesConcurrency }
    return reply.outcome(await runPaidCall(this.deps, call, () => work))
  }

  private work(
    { authenticated, method, url }: CallRequest,
    route: PricedRoute,
    input: Parameters<ParameterTable>,
  ): Work {
    const { operation } = route
    const { caller } = authenticated
    return providerWork(this.deps, {
      operation,
      input,
      provider: typeof route.provider === 'function' ? route.provider(authenticated) : route.provider,
      quote: quoteOf(this.deps.prices, operation, input, caller.kind === 'anonymous' ? null : caller.account.id),
      headers: route.headers?.(input) ?? {},
      fingerprint: () => fingerprintOf({ method, path: url.pathname, query: url.searchParams, input }),
    })
  }
}

function rawInput({
  method,
  url,
  header,
  body,
}: CallRequest): Result<RawInput, Failure> | Promise<Result<RawInput, Failure>> {
  const sent = queryValues(url.search)
  const wire: RawInput = { query: (name) => sent.get(name) ?? NONE, header }
  return method === 'POST' ? withBody(wire, body) : ok(wire)
}

async function withBody(wire: RawInput, body: CallRequest['body']): Promise<Result<RawInput, Failure>> {
  const read = await body()
  if (!read.ok) return read
  const parameters = read.value === undefined ? {} : read.value
  if (!isJson(parameters))
    return err(failure('invalid_request', 'The body must be a JSON object that contains the parameters.'))
  return ok({ ...wire, body: parameters })
}

/** Whether an `Accept` header admits JSON: absent, `*`/`*`, `application/*`, or `application/json`, none with q=0 (RFC 9110 12.5.1). */
function admitsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === '') return true
  let best: { specificity: number; allowed: boolean } | null = null
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const specificity = ['*/*', 'application/*', 'application/json'].indexOf(type)
    if (specificity < 0) continue
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    const allowed = quality === undefined || Number(quality.slice(2)) > 0
    if (!best || specificity >= best.specificity) best = { specificity, allowed }
  }
  return best?.allowed ?? false
}
