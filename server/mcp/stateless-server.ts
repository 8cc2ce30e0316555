import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { calledResult, calledTool, described, instructionsFor, type McpCall, SERVER_INFO } from './mcp-call'

/** The calls by their requests, which are all that the SDK hands to the factory of a server. */
const calls = new WeakMap<Request, McpCall>()

/** Answers one message of the protocol 2026-07-28, which has no sessions: every message says what the server must know. */
export function answerStateless(call: McpCall): Promise<Response> {
  const { request, message, tools } = call
  const { method, id = null } = Object(message)
  // Nothing announced here ever changes, so such a stream would only be held open. This version has no ping any more.
  if (method === 'subscriptions/listen' || method === 'ping') return Promise.resolve(noMethod(id))
  calls.set(request, call)
  const { fetch } = calledTool(message, tools)?.isLong && call.takesEvents ? LONG : SHORT
  return fetch(request, { parsedBody: message })
}

function serverOf({ requestInfo }: { readonly requestInfo?: Request }): Server {
  const call = requestInfo && calls.get(requestInfo)
  if (!call) throw new Error('a server is made for one call')
  const server = new Server(SERVER_INFO, { capabilities: { tools: {} }, instructions: instructionsFor(call) })
  server.setRequestHandler('tools/list', () => ({ tools: call.tools.filter(call.isListed).map(described) }))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq: { id, signal, notify, _meta: meta } }) =>
    calledResult(call, { ...params, ...(meta && { _meta: meta }) }, { id, signal, notify }),
  )
  return server
}

/** Other versions are answered by `answerMcp`. A long tool sends its headers at once, so that nothing in between gives up. */
const SHORT = createMcpHandler(serverOf, { legacy: 'reject', responseMode: 'auto' })
const LONG = createMcpHandler(serverOf, { legacy: 'reject', responseMode: 'sse' })

const METHOD_NOT_FOUND = -32601

function noMethod(id: unknown): Response {
  const error = { code: METHOD_NOT_FOUND, message: 'Method not found' }
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 404 })
}
