import { isOperationName } from '../../core/catalog/operations'
import type { ModelCatalog } from '../../core/models/model-catalog'
import type { ShownPayment } from '../../core/payments/method'
import { ok } from '../../core/result'
import type { ToolCall } from '../../mcp/tool'
import { soldRoute } from '../../pipeline/apis/api-sale'
import type { AuthenticatedCall, KnownCaller, Outcome, PricedRoute, Route } from '../../pipeline/call'
import type { ApiCalls } from '../apis/api-calls'
import type { Gate } from '../middleware/gate'
import { queryOf } from '../middleware/input/list-query'
import type { CallRequest, PricedCalls } from '../middleware/priced'
import type { GatedContext } from '../middleware/request-context'
import { idHeaders } from '../middleware/request-ids'
import { failureOf, failureResponse, type OnFault } from '../middleware/response/failures'
import type { Reply } from '../middleware/response/reply'
import { wireModel } from '../models/record'
import type { ResearchCalls } from '../models/research-calls'
import { type EndpointTable, UNKNOWN_ENDPOINT } from '../routing/endpoint-table'
import type { Social } from '../social/record'
import { startLink } from '../social/start-link'
import { CALLER_USAGE_QUERY, type UsageAnswers } from '../usage/usage-answers'

export interface ToolCallParts {
  readonly gate: Gate
  readonly priced: PricedCalls
  readonly apiCalls: ApiCalls
  readonly researchCalls: ResearchCalls
  readonly usage: UsageAnswers
  readonly models: ModelCatalog
  readonly social: Social | null
  readonly onFault: OnFault
}

/**
 * Runs the calls behind tools as their routes do: the same authorization, input validation, pipeline and response, with its own
 * request id and log row. It bypasses the router.
 */
export class ToolCalls {
  private readonly parts: ToolCallParts
  private readonly endpoints: EndpointTable

  constructor(parts: ToolCallParts, endpoints: EndpointTable) {
    this.parts = parts
    this.endpoints = endpoints
  }

  /** Runs a call as the caller of `context`, or paid for by `payment`. Never rejects. */
  async answer(
    context: GatedContext,
    call: ToolCall,
    { payment, signal }: { readonly payment: ShownPayment | null; readonly signal: AbortSignal },
  ): Promise<Response> {
    const { gate, onFault } = this.parts
    if (call.known) return Response.json(call.known)
    const url = new URL(call.path, context.url)
    const route = call.imported
      ? soldRoute(call.imported.match)
      : (this.endpoints.routeOf(call.method, url.pathname) ?? UNKNOWN_ENDPOINT)
    let reply: Reply | null = null
    try {
      reply = await gate.openWithin(context, { route, method: call.method, url }, payment)
      const { verdict } = reply
      if ('failure' in verdict) return reply.refuse(verdict.failure)
      const request = toolRequest(call, context, { url, reply, authenticated: verdict, hangUp: signal })
      if (route.kind === 'priced') return reply.outcome(await this.sell(request, route, call))
      return await this.run(request, route, context)
    } catch (error) {
      const { ids } = context
      const problem = failureOf(error, reply?.requestId ?? ids.own, onFault)
      if (reply) return reply.refuse(problem)
      return failureResponse(problem, ids.own, url.pathname, new Headers(idHeaders(ids)))
    }
  }

  private sell(request: CallRequest, { operation }: PricedRoute, { imported }: ToolCall): Outcome | Promise<Outcome> {
    const { priced, apiCalls, researchCalls } = this.parts
    if (imported) return apiCalls.answerTool(request, imported.match, imported.values)
    return isOperationName(operation) ? priced.answer(request, operation) : researchCalls.answer(request)
  }

  private async run(request: CallRequest, route: Route, context: GatedContext): Promise<Response> {
    const { usage, models } = this.parts
    const { reply, url, authenticated } = request
    const { caller } = authenticated
    if (route.kind !== 'free' || caller.kind === 'anonymous') throw new Error(`no tool calls ${url.pathname}`)
    const free = (body: unknown) => reply.free(body, { 'cache-control': 'no-store' })
    switch (route.name) {
      case 'models':
        return free({ object: 'list', data: models.listFor(caller).map(wireModel) })
      case 'social-link':
        return this.link(request, caller, context)
      case 'balance':
        return free(await usage.balance(caller))
      case 'usage':
        return free(await usage.report(caller, queryOf(CALLER_USAGE_QUERY, request)))
      case 'usage-request':
        return free(await usage.explained(caller, decodeURIComponent(url.pathname.slice('/v1/usage/'.length))))
      default:
        throw new Error(`no tool calls ${route.name}`)
    }
  }

  private async link(request: CallRequest, caller: KnownCaller, { address }: GatedContext): Promise<Response> {
    const { reply } = request
    const sent = await request.body()
    const started = sent.ok ? await startLink(this.parts.social, caller, address, sent.value) : sent
    return started.ok ? reply.free(started.value, { 'cache-control': 'no-store' }) : reply.refuse(started.error)
  }
}

function toolRequest(
  { method, headers, body }: ToolCall,
  { request }: GatedContext,
  to: {
    readonly url: URL
    readonly reply: Reply
    readonly authenticated: AuthenticatedCall
    readonly hangUp: AbortSignal
  },
): CallRequest {
  // An operation may read the agent's name.
  const sent = new Headers(headers)
  const userAgent = request.headers.get('user-agent')
  if (userAgent !== null) sent.set('user-agent', userAgent)
  const { pathname: path, search } = to.url
  return { ...to, method, path, search, header: (name) => sent.get(name), body: async () => ok(body) }
}
