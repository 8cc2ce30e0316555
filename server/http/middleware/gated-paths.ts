import { type Failure, failure } from '../../core/failure'
import type { Outcome } from '../../pipeline/call'
import { isProbe } from '../routing/endpoint'
import { type EndpointTable, type Matched, refusing } from '../routing/endpoint-table'
import type { Gate } from './gate'
import { type BunServer, type ContextDeps, type GatedContext, RequestContext } from './request-context'
import { idHeaders } from './request-ids'
import { failureOf, failureResponse, type OnFault } from './response/failures'
import { limitHeaders, type Reply } from './response/reply'
import { securedResponse } from './secured-by'

export interface RequestParts {
  readonly contexts: ContextDeps
  readonly gate: Gate
  /** Why this process serves nothing new; null while it does. */
  readonly refusal: () => Failure | null
  readonly onFault: OnFault
  /** Public origin. */
  readonly baseUrl: string
}

/**
 * Answers all requests of gated paths, before Elysia's router: authenticates each for its endpoint and runs the handler that the endpoint
 * declares. Every answer carries the limit headers, also a 404, 405 or 503.
 */
export class GatedPaths {
  private readonly parts: RequestParts
  private readonly endpoints: EndpointTable

  constructor(parts: RequestParts, endpoints: EndpointTable) {
    this.parts = parts
    this.endpoints = endpoints
  }

  /** Never rejects. */
  async answer(request: Request, server: BunServer): Promise<Response> {
    const { contexts, gate, refusal, onFault, baseUrl } = this.parts
    const context = new RequestContext(request, server, contexts)
    const { method, url } = request
    let response: Response
    try {
      const problem = requestProblem(context, refusal)
      const matched = problem
        ? refusing({ kind: 'unmatched', failure: problem })
        : this.endpoints.match(method, context.path)
      const opening = gate.open(context, matched.route)
      const reply = opening instanceof Promise ? await opening : opening
      const call = new Call(context as GatedContext, matched)
      const running = reply.refusal ? reply.refuse(reply.refusal) : call.run()
      const returned = running instanceof Promise ? await running : running
      response = returned instanceof Response ? returned : call.answered(reply, returned)
      if (method === 'HEAD') response = await withoutBody(response)
    } catch (error) {
      response = refused(context, error, onFault)
    }
    const leaving = gate.leave(context)
    if (leaving !== null) await leaving
    return securedResponse(response, url, baseUrl)
  }
}

/** An authenticated call, as its handler sees it. */
class Call {
  readonly context: GatedContext
  readonly params: Matched['params']
  private readonly matched: Matched
  private settings: { status?: number; headers: Record<string, string> } | null = null

  constructor(context: GatedContext, matched: Matched) {
    this.context = context
    this.params = matched.params
    this.matched = matched
  }

  get set(): { status?: number; headers: Record<string, string> } {
    this.settings ??= { headers: {} }
    return this.settings
  }

  run(): unknown {
    const { handler } = this.matched
    if (!handler) throw new Error('a call of no endpoint was not refused')
    return handler(this)
  }

  answered(reply: Reply, returned: unknown): Response {
    if (this.matched.route.kind === 'priced') return this.sold(reply, returned as Outcome)
    return reply.free(returned, { 'cache-control': 'no-store' }, this.settings?.status)
  }

  private sold(reply: Reply, outcome: Outcome): Response {
    if (outcome.kind !== 'streaming') this.context.awaitReader()
    return reply.outcome(outcome)
  }
}

const BAD_HOST = failure('invalid_request', 'The Host header is not a valid host name.')
export const DRAINING = failure('service_unavailable', 'This server is shutting down. Try again.', {
  retryAfterSeconds: 1,
})
/** Another process may be the one that decides. */
export const NO_LEASE = failure('service_unavailable', 'This server cannot reach its log. Try again.', {
  retryAfterSeconds: 1,
})

/** Why a request is refused whatever it asks for, or null. */
export function requestProblem(context: RequestContext, refusal: RequestParts['refusal']) {
  const { origin, request, path } = context
  // Two Host headers arrive as one, joined by a comma (RFC 9112 section 3.2).
  if (origin.hasBadHost || request.headers.get('host')?.includes(',')) return BAD_HOST
  const refused = refusal()
  return refused && !isProbe(path) && !origin.isConsole ? refused : null
}

/** The response to a request that failed with this error. All failures have one shape. */
export function refused({ ids, path, reply, readings }: RequestContext, error: unknown, onFault: OnFault): Response {
  const problem = failureOf(error, ids.own, onFault)
  if (reply) return reply.refuse(problem)
  const headers = new Headers({ ...idHeaders(ids), ...(readings && limitHeaders(readings)) })
  return failureResponse(problem, ids.own, path, headers)
}

/** The answer to HEAD: that of GET with the length of its body. */
async function withoutBody(answer: Response): Promise<Response> {
  const { status, headers } = answer
  headers.set('content-length', String((await answer.arrayBuffer()).byteLength))
  return new Response(null, { status, headers })
}
