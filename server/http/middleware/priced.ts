import { IMAGE_SEARCH, type ImageSearchInput } from '../../core/catalog/image-search'
import { LLM_CONTEXT, type LlmContextInput } from '../../core/catalog/llm-context'
import { type Operation, type OperationName, parseInput } from '../../core/catalog/operation'
import type { Parameters, ParameterTable, RawInput } from '../../core/catalog/parameters'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import { isJson } from '../../core/json'
import type { Provider } from '../../core/providers/provider'
import { ok, type Result } from '../../core/result'
import { type AnswerHeaders, type AuthenticatedCall, type Outcome, refusedOutcome } from '../../pipeline/call'
import { type PipelineDeps, runPaidCall } from '../../pipeline/paid-call'
import { ProviderWork } from '../../pipeline/provider-work'
import { SOCIAL_SALES, type SocialParts } from '../../pipeline/social/social-actions'
import type { Work } from '../../pipeline/work'
import { readCallOptions } from './input/call-options'
import { queryValues } from './input/query-values'
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

/** An authenticated call: an HTTP request (`GatedContext`) or an MCP tool call. */
export interface CallRequest {
  readonly reply: Reply
  readonly authenticated: AuthenticatedCall
  readonly method: string
  readonly path: string
  readonly url: URL
  /** The query of the URL, with its question mark. */
  readonly search: string
  readonly hangUp: AbortSignal
  header(name: string): string | null
  /** The JSON body; undefined if there is none. */
  body(): Promise<Result<unknown, Failure>>
}

/** Sells the catalog operations: validates the whole input, and runs the call through the pipeline. */
export class PricedCalls {
  private readonly deps: PipelineDeps
  private readonly routes: ReadonlyMap<OperationName, PricedRoute>

  constructor(deps: PipelineDeps, routes: ReadonlyMap<OperationName, PricedRoute>) {
    this.deps = deps
    this.routes = routes
  }

  /** Answers an authenticated call. Lists all input errors at once. */
  answer(request: CallRequest, name: OperationName): Outcome | Promise<Outcome> {
    const route = this.routes.get(name)
    if (!route) throw new Error(`no route serves ${name}`)
    if (!admitsJson(request.header('accept'))) return NOT_ACCEPTABLE
    if (request.method === 'POST') return this.answerBody(request, route)
    return this.sell(request, route, new HttpInput(request))
  }

  private async answerBody(request: CallRequest, route: PricedRoute): Promise<Outcome> {
    const read = await request.body()
    if (!read.ok) return refusedOutcome(read.error)
    const body = read.value === undefined ? {} : read.value
    if (!isJson(body)) return refusedOutcome(NO_OBJECT)
    return this.sell(request, route, new HttpInput(request, body))
  }

  private sell(request: CallRequest, route: PricedRoute, raw: RawInput): Outcome | Promise<Outcome> {
    const { authenticated, hangUp } = request
    const { operation } = route
    const parsed = parseInput(operation, raw)
    const options = readCallOptions(request)
    if (!parsed.ok || !options.ok)
      return refusedOutcome(wrongParameters([...(parsed.ok ? [] : parsed.error), ...(options.ok ? [] : options.error)]))
    const work = ok(this.work(request, route, parsed.value))
    const call = { authenticated, options: options.value, hangUp }
    return runPaidCall(this.deps, call, () => work)
  }

  private work(request: CallRequest, route: PricedRoute, input: Parameters<ParameterTable>): Work {
    const { authenticated } = request
    const { caller } = authenticated
    const { operation, provider: sold } = route
    const account = caller.kind === 'anonymous' ? null : caller.account.id
    const provider = typeof sold === 'function' ? sold(authenticated) : sold
    const headers = route.headers?.(input) ?? NO_HEADERS
    return new ProviderWork(this.deps, { operation, provider, input, account, headers, request })
  }
}

const NO_HEADERS: AnswerHeaders = {}
const NOT_ACCEPTABLE = refusedOutcome(
  failure('not_acceptable', 'This endpoint returns JSON only. Accept application/json or */*.'),
)
const NO_OBJECT = failure('invalid_request', 'The body must be a JSON object that contains the parameters.')

/** The input of a call: its query and headers, or its body in place of the query. */
class HttpInput implements RawInput {
  readonly body: RawInput['body']
  private readonly request: CallRequest
  private readonly sent: ReturnType<typeof queryValues>

  constructor(request: CallRequest, body?: RawInput['body']) {
    this.request = request
    this.sent = queryValues(request.search)
    this.body = body
  }

  query(name: string): readonly string[] {
    return this.sent.get(name) ?? NONE
  }

  header(name: string): string | null {
    return this.request.header(name)
  }
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
