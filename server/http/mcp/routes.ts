import { OPERATIONS } from '../../core/catalogue/operations'
import { type PriceStore, priceOf } from '../../core/catalogue/prices'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import { accountTools } from '../../mcp/account-tools'
import { paymentIn } from '../../mcp/payment'
import { RESEARCH_TOOL } from '../../mcp/research-tool'
import { RunningCalls } from '../../mcp/running-calls'
import { answerMcp, calledTool } from '../../mcp/server'
import { catalogueTools, type Tool } from '../../mcp/tool'
import { type Caller, countedOn } from '../../pipeline/call'
import { readJson } from '../middleware/json-body'
import type { Reply } from '../middleware/reply'
import { type GatedContext, routeGroup } from '../middleware/request-context'
import { freeEndpoint, publicEndpoint, served } from '../routing/endpoint'
import type { Endpoints } from '../routing/endpoint-table'
import { CALLER_USAGE_QUERY } from '../usage/usage-answers'
import { type ToolCallParts, ToolCalls } from './tool-calls'

interface McpParts extends ToolCallParts {
  readonly prices: PriceStore
  readonly ownOrigins: ReadonlySet<string>
  /** Whether only this machine can reach the server: then a page elsewhere could by a name that it lets point here. */
  readonly isLoopback: boolean
}

// Each tool is judged by itself.
const MCP = freeEndpoint('mcp', 'any')
const PAID_MCP = publicEndpoint({ paymentInBody: true })

/**
 * The catalogue as MCP tools (spec 5): `/mcp` for a key or an access token; `/mcp/paid`, its data tools alone, also for whoever pays
 * each call by itself (spec-answers 10). A tool runs what the operation's own route runs (`ToolCalls`), in the name of the caller
 * that the gate let in, or paid for by what the message brought: one authorization, one price, one ledger. The minute counts it once.
 */
export function mcpRoutes(parts: McpParts, endpoints: Endpoints) {
  const mcp = new McpRoute(parts, endpoints)
  return routeGroup({ name: 'mcp' })
    .post(
      '/mcp',
      ...served(MCP, ({ context }) => mcp.answer(context, (account) => allTools(parts.prices, account)), null),
    )
    .post(
      '/mcp/paid',
      ...served(PAID_MCP, ({ context }) => mcp.answer(context, (account) => paidTools(parts.prices, account)), null),
    )
}

function allTools(prices: PriceStore, account: AccountId | null): readonly Tool[] {
  return [
    ...catalogueTools((operation) => priceOf(prices, OPERATIONS[operation.name].name, account).amount),
    RESEARCH_TOOL,
    ...accountTools(CALLER_USAGE_QUERY),
  ]
}

function paidTools(prices: PriceStore, account: AccountId | null): readonly Tool[] {
  return allTools(prices, account).filter(isPayable)
}

function isPayable({ route }: Tool): boolean {
  return route.kind === 'priced' && route.payable === true
}

class McpRoute {
  private readonly parts: McpParts
  private readonly calls: ToolCalls
  private readonly hosts: ReadonlySet<string>
  private readonly running = new RunningCalls()

  constructor(parts: McpParts, endpoints: Endpoints) {
    this.parts = parts
    this.calls = new ToolCalls(parts, endpoints)
    this.hosts = new Set([...parts.ownOrigins].map((origin) => new URL(origin).host))
  }

  async answer(context: GatedContext, toolsFor: (account: AccountId | null) => readonly Tool[]): Promise<Response> {
    const { request } = context
    const { caller } = context.authenticated
    const known = caller.kind === 'anonymous' ? null : caller
    const counted = async () => (known ? context.reply : this.parts.gate.count(context))
    const foreign = this.foreign(context)
    if (foreign) return refused(await counted(), foreign)
    const body = await readJson(context)
    if (!body.ok) return refused(await counted(), body.error)
    const message: unknown = body.value ?? null
    if (Array.isArray(message)) return refused(await counted(), NO_BATCHES)
    const tools = toolsFor(known?.account.id ?? null)
    const called = calledTool(message, tools)
    const payment = called && isPayable(called) ? paymentIn(message) : null
    // A payment is counted where its call is run, apart from the other requests of its address.
    const reply = payment ? context.reply : await counted()
    if (reply.refusal) return reply.refuse(reply.refusal)
    const problem = called && !payment ? reply.forbids(called.route) : null
    // As HTTP, so that a client can ask its owner for more and come back (RFC 6750 3.1).
    if (problem?.code === 'insufficient_scope') return reply.refuse(problem)
    // A long call may be silent for longer than the server lets a connection be.
    if (called?.isLong) context.allowSilence()
    const name = nameOf(caller)
    if (name !== null) cancelled(message, name, this.running)
    let hasRun = false
    const answer = await answerMcp({
      request,
      message,
      caller: name,
      payment,
      tools,
      running: this.running,
      run: (call, signal) => {
        hasRun = true
        return this.calls.answer(context, call, { payment, signal })
      },
      every: (ms, tick) => {
        const timer = setInterval(tick, ms)
        return () => clearInterval(timer)
      },
    })
    // A message that brought a payment, and was refused before any call, counts like one without.
    const last = payment && !hasRun ? await counted() : reply
    return last.refusal ? last.refuse(last.refusal) : last.passed(answer, called !== null)
  }

  /** Why a browser's request is not taken, or null. */
  private foreign({ request, url }: GatedContext): Failure | null {
    const { ownOrigins, isLoopback } = this.parts
    const origin = request.headers.get('origin')
    if (origin !== null && !ownOrigins.has(origin))
      return failure('foreign_origin', 'A page of another site may not call the MCP server.')
    if (isLoopback && !this.hosts.has(url.host))
      return failure('foreign_origin', 'The Host header is not the name of this server.')
    return null
  }
}

const NO_BATCHES = failure('invalid_request', 'Send one JSON-RPC message per request; batches are not taken.')

/** Unless its minute is full, which is told first (spec-answers 2). */
function refused(reply: Reply, problem: Failure): Response {
  return reply.refuse(reply.refusal ?? problem)
}

function nameOf(caller: Caller): string | null {
  return caller.kind === 'anonymous' ? null : countedOn(caller).id
}

/** A cancel comes as a message of its own and, without sessions, meets a server of its own: it is carried over here. */
function cancelled(message: unknown, caller: string, running: RunningCalls): void {
  const read = (value: unknown, name: string): unknown => Reflect.get(Object(value ?? {}), name)
  if (read(message, 'method') !== 'notifications/cancelled') return
  const id = read(read(message, 'params'), 'requestId')
  if (typeof id === 'string' || typeof id === 'number') running.cancel(caller, id)
}
