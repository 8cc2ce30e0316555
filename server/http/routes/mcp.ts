import { Elysia } from 'elysia'
import { OPERATIONS } from '../../core/catalogue/operations'
import { type PriceStore, priceOf } from '../../core/catalogue/prices'
import { failure } from '../../core/failure'
import { countedOn } from '../../gateway/call'
import { accountTools } from '../../mcp/account-tools'
import { RESEARCH_TOOL } from '../../mcp/research-tool'
import { RunningCalls } from '../../mcp/running-calls'
import { answerMcp, calledTool } from '../../mcp/server'
import { catalogueTools, type ToolCall } from '../../mcp/tool'
import { UNDOCUMENTED } from '../docs/documented'
import type { Exchange } from '../exchange'
import type { FrontDesk } from '../front-desk'
import type { InnerCalls } from '../inner-calls'
import { readJson } from '../json-body'
import { CALLER_USAGE_QUERY } from '../usage-answers'

interface McpParts {
  readonly desk: FrontDesk
  readonly prices: PriceStore
  readonly ownOrigins: ReadonlySet<string>
  /** Whether only this machine can reach the server: then a page elsewhere could by a name that it lets point here. */
  readonly isLoopback: boolean
}

/**
 * `/mcp` (spec 5): the catalogue as MCP tools, for a key or an access token. A tool is a call of the operation's own route, made
 * in the name of the caller that the door let in here: one judge, one price, one ledger. The minute counts it once.
 */
export function mcpRoutes(parts: McpParts, inner: InnerCalls) {
  const { desk, prices, ownOrigins, isLoopback } = parts
  const running = new RunningCalls()
  const hosts = new Set([...ownOrigins].map((origin) => new URL(origin).host))
  return new Elysia({ name: 'mcp' }).post(
    '/mcp',
    async ({ request, server }) => {
      const exchange = desk.exchange(request)
      const origin = request.headers.get('origin')
      if (origin !== null && !ownOrigins.has(origin))
        return exchange.refuse(failure('foreign_origin', 'A page of another site may not call the MCP server.'))
      if (isLoopback && !hosts.has(desk.arrival(request).url.host))
        return exchange.refuse(failure('foreign_origin', 'The Host header is not the name of this server.'))
      const { admitted } = exchange
      if (!admitted || admitted.caller.kind === 'anonymous') throw new Error('the door let nobody known pass to /mcp')
      const body = await readJson(request)
      if (!body.ok) return exchange.refuse(body.error)
      if (Array.isArray(body.value))
        return exchange.refuse(
          failure('invalid_request', 'Send one JSON-RPC message per request; batches are not taken.'),
        )
      const { account } = admitted.caller
      const tools = [
        ...catalogueTools((operation) => priceOf(prices, OPERATIONS[operation.name].name, account.id).amount),
        RESEARCH_TOOL,
        ...accountTools(CALLER_USAGE_QUERY),
      ]
      const called = calledTool(body.value, tools)
      const problem = called ? exchange.forbids(called.destination) : null
      // As HTTP, so that a client can ask its owner for more and come back (RFC 6750 3.1).
      if (problem?.code === 'insufficient_scope') return exchange.refuse(problem)
      const caller = countedOn(admitted.caller).id
      // A long call may be silent for longer than the server lets a connection be.
      if (called?.isLong) server?.timeout(desk.original(request), 0)
      cancelled(body.value, caller, running)
      const answer = await answerMcp({
        request,
        message: body.value ?? null,
        caller,
        tools,
        running,
        run: (call, signal) => inner.call(madeRequest(call, request, exchange, desk, signal)),
        every: (ms, tick) => {
          const timer = setInterval(tick, ms)
          return () => clearInterval(timer)
        },
      })
      return exchange.passed(answer, called !== null)
    },
    { parse: 'none', ...UNDOCUMENTED },
  )
}

function madeRequest(call: ToolCall, from: Request, exchange: Exchange, desk: FrontDesk, signal: AbortSignal): Request {
  const headers = new Headers(call.headers)
  const userAgent = from.headers.get('user-agent')
  if (userAgent !== null) headers.set('user-agent', userAgent)
  const hasBody = call.body !== undefined
  if (hasBody) headers.set('content-type', 'application/json')
  const made = new Request(new URL(call.path, from.url), {
    method: call.method,
    headers,
    signal,
    ...(hasBody && { body: JSON.stringify(call.body) }),
  })
  desk.lendAdmission(made, exchange, from)
  return made
}

/** A cancel comes as a message of its own and, without sessions, meets a server of its own: it is carried over here. */
function cancelled(message: unknown, caller: string, running: RunningCalls): void {
  const read = (value: unknown, name: string): unknown => Reflect.get(Object(value ?? {}), name)
  if (read(message, 'method') !== 'notifications/cancelled') return
  const id = read(read(message, 'params'), 'requestId')
  if (typeof id === 'string' || typeof id === 'number') running.cancel(caller, id)
}
