import type { ApiRegistry } from '../../core/apis/api-store'
import { OPERATIONS } from '../../core/catalog/operations'
import { currentPrice, type PriceStore } from '../../core/catalog/prices'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { accountTools } from '../../mcp/account-tools'
import { importedTools, payableTools, type ToolRights } from '../../mcp/imported-tools'
import { calledTool } from '../../mcp/mcp-call'
import { paymentIn } from '../../mcp/payment'
import { researchTool } from '../../mcp/research-tool'
import { RunningCalls } from '../../mcp/running-calls'
import { answerMcp } from '../../mcp/server'
import { catalogTools, type Tool } from '../../mcp/tool'
import { soldPrice } from '../../pipeline/apis/api-sale'
import { accessProblem } from '../../pipeline/auth/authenticate'
import { type Caller, countedOn, type KnownCaller, type Route } from '../../pipeline/call'
import { readJson, STRANGERS_BODY } from '../middleware/input/json-body'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import type { Reply } from '../middleware/response/reply'
import { UNDOCUMENTED } from '../openapi/documented'
import { costing } from '../routing/cost'
import { freeEndpoint, publicEndpoint, served } from '../routing/endpoint'
import type { EndpointTable } from '../routing/endpoint-table'
import { CALLER_USAGE_QUERY } from '../usage/usage-answers'
import { type ToolCallParts, ToolCalls } from './tool-calls'

interface McpParts extends ToolCallParts {
  readonly prices: PriceStore
  readonly apis: ApiRegistry
  readonly models: ModelCatalog
  readonly ownOrigins: ReadonlySet<string>
  /** Origins of other web pages that may call it. */
  readonly corsOrigins: ReadonlySet<string>
  /** Whether only this machine can reach the server. A web page could still reach it through a host name that resolves to it. */
  readonly isLoopback: boolean
}

// The scope is checked for each tool.
const MCP = freeEndpoint('mcp', 'any')
const PAID_MCP = publicEndpoint({ paymentInBody: true })

/**
 * The catalog as MCP tools (spec 5): `/mcp` for a key or an access token; `/mcp/paid` with the data tools only, also for callers
 * who pay per call (spec D10). A tool runs what the operation's own route runs (`ToolCalls`), as the authenticated caller or
 * paid for by the payment in the message: same authorization, same price, same ledger. It counts once against the rate limit.
 */
export function mcpRoutes(parts: McpParts, endpoints: EndpointTable) {
  const mcp = new McpRoute(parts, endpoints)
  return routeGroup({ name: 'mcp' })
    .post(
      '/mcp',
      // Its tools cost what they do, the paid ones money.
      ...served(MCP, costing(0, UNDOCUMENTED), ({ context }) =>
        mcp.answer(context, (caller) => allTools(parts, caller, context)),
      ),
    )
    .post(
      '/mcp/paid',
      ...served(PAID_MCP, UNDOCUMENTED, ({ context }) => mcp.answer(context, (caller) => paidTools(parts, caller))),
    )
}

function allTools(parts: McpParts, known: KnownCaller | null, context: GatedContext): readonly Tool[] {
  const allowed = known?.kind === 'key' ? known.key.allowedModels : []
  return [
    ...builtInTools(parts, known, allowed),
    ...importedTools(parts.apis.routes, rightsOf(parts, known?.account.id ?? null, context)),
  ]
}

function rightsOf(parts: McpParts, account: AccountId | null, { authenticated: { caller } }: GatedContext): ToolRights {
  const mayCall = (route: Route) => accessProblem(caller, route) === null
  const priceOf = importedPrices(parts, account)
  if (caller.kind !== 'key') return { mayCall, list: null, pinned: [], priceOf }
  const { allowedEndpoints, pinnedOperations } = caller.key
  return { mayCall, list: allowedEndpoints.length > 0 ? allowedEndpoints : null, pinned: pinnedOperations, priceOf }
}

function importedPrices({ prices }: McpParts, account: AccountId | null): ToolRights['priceOf'] {
  return (sold) => soldPrice(prices, sold, account).price
}

/** `allowed`: the only models that the caller may use; empty means all. */
function builtInTools(
  { prices, models }: McpParts,
  caller: KnownCaller | null,
  allowed: readonly string[] = [],
): readonly Tool[] {
  const account = caller?.account.id ?? null
  const chat = models
    .listFor(caller)
    .filter(({ id, purpose }) => purpose === 'text' && (allowed.length === 0 || allowed.includes(id)))
  return [
    ...catalogTools((operation) => currentPrice(prices, OPERATIONS[operation.name].name, account).amount),
    researchTool(chat.map(({ id }) => id)),
    ...accountTools(CALLER_USAGE_QUERY),
  ]
}

function paidTools(parts: McpParts, caller: KnownCaller | null): readonly Tool[] {
  return [
    ...builtInTools(parts, caller).filter(takesPayment),
    ...payableTools(parts.apis.routes, importedPrices(parts, caller?.account.id ?? null)),
  ]
}

/** Whether a call of a tool can be paid for by itself. */
function takesPayment({ route }: Tool): boolean {
  return route.kind === 'priced' ? route.payable === true : route.kind === 'public' && route.paymentInBody === true
}

class McpRoute {
  private readonly parts: McpParts
  private readonly calls: ToolCalls
  private readonly hosts: ReadonlySet<string>
  private readonly running = new RunningCalls()

  constructor(parts: McpParts, endpoints: EndpointTable) {
    this.parts = parts
    this.calls = new ToolCalls(parts, endpoints)
    this.hosts = new Set([...parts.ownOrigins].map((origin) => new URL(origin).host))
  }

  async answer(context: GatedContext, toolsFor: (caller: KnownCaller | null) => readonly Tool[]): Promise<Response> {
    const { request } = context
    const { caller } = context.authenticated
    const known = caller.kind === 'anonymous' ? null : caller
    const counted = async () => (known ? context.reply : this.parts.gate.count(context))
    const foreign = this.foreign(context)
    if (foreign) return refused(await counted(), foreign)
    const body = await readJson(context, known ? undefined : STRANGERS_BODY)
    if (!body.ok) return refused(await counted(), body.error)
    const message: unknown = body.value ?? null
    if (Array.isArray(message)) return refused(await counted(), NO_BATCHES)
    const tools = toolsFor(known)
    const called = calledTool(message, tools)
    const payment = called && takesPayment(called) ? paymentIn(message) : null
    // A paid call is counted when it runs, separately from the other requests of its address.
    const reply = payment ? context.reply : await counted()
    if (reply.refusal) return reply.refuse(reply.refusal)
    const problem = called && !payment ? accessProblem(caller, called.route) : null
    // An HTTP error, so that the client can request the scope from its owner and try again (RFC 6750 3.1).
    if (problem?.code === 'insufficient_scope') return reply.refuse(problem)
    // A long call may be silent for longer than the idle timeout of the connection.
    if (called?.isLong) context.allowSilence()
    const name = nameOf(caller)
    if (name !== null) cancelled(message, name, this.running)
    let hasRun = false
    const accept = request.headers.get('accept')
    const answer = await answerMcp({
      request: withUsualAccept(request, accept),
      takesEvents: accept?.includes('text/event-stream') === true,
      message,
      caller: name,
      payment,
      tools,
      running: this.running,
      // One that lacks a scope is not listed, but its call says which.
      isListed: (tool) => accessProblem(caller, tool.route) === null,
      run: (call, signal) => {
        hasRun = true
        return this.calls.answer(context, call, { payment, signal })
      },
      every: (ms, tick) => {
        const timer = setInterval(tick, ms)
        return () => clearInterval(timer)
      },
    })
    // A message with a payment that was refused before its call ran counts like one without.
    const last = payment && !hasRun ? await counted() : reply
    return last.refusal ? last.refuse(last.refusal) : context.endSilence(await last.passed(answer, called !== null))
  }

  /** Why a browser's request is refused, or null. */
  private foreign({ request, url }: GatedContext): Failure | null {
    const { ownOrigins, corsOrigins, isLoopback } = this.parts
    const origin = request.headers.get('origin')
    if (origin !== null && !ownOrigins.has(origin) && !corsOrigins.has(origin))
      return failure('foreign_origin', 'Web pages of other sites cannot call this MCP server.')
    if (isLoopback && !this.hosts.has(url.host))
      return failure('foreign_origin', "The Host header does not name this server. Use the gateway's own URL.")
    return null
  }
}

/** Both SDKs refuse a client that does not name both types, although each answer fits what it named (RFC 9110 12.5.1). */
function withUsualAccept(request: Request, accept: string | null): Request {
  if (accept !== null && !/\*\/\*|application\/(?:json|\*)|text\/event-stream/.test(accept)) return request
  const headers = new Headers(request.headers)
  headers.set('accept', 'application/json, text/event-stream')
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}

const NO_BATCHES = failure('invalid_request', 'JSON-RPC batches are not supported. Send one message per request.')

/** Refuses the message. A rate limit that was reached takes precedence over `problem` (spec D2). */
function refused(reply: Reply, problem: Failure): Response {
  return reply.refuse(reply.refusal ?? problem)
}

function nameOf(caller: Caller): string | null {
  return caller.kind === 'anonymous' ? null : countedOn(caller).id
}

/** Cancels a running call. Without MCP sessions, the notification arrives at a different server instance than the call. */
function cancelled(message: unknown, caller: string, running: RunningCalls): void {
  const read = (value: unknown, name: string): unknown => Reflect.get(Object(value ?? {}), name)
  if (read(message, 'method') !== 'notifications/cancelled') return
  const id = read(read(message, 'params'), 'requestId')
  if (typeof id === 'string' || typeof id === 'number') running.cancel(caller, id)
}
