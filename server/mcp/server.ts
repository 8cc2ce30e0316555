import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { calledResult, calledTool, described, instructionsFor, type McpCall, memberOf, SERVER_INFO } from './mcp-call'

/**
 * Answers one MCP message: in the stateless protocol of 2026-07-28 if it says so, otherwise in that of 2025-11-25 and before, whose
 * SDK asks for one server and transport per request. Long tools respond with server-sent events and progress, everything else with
 * one JSON document.
 */
export async function answerMcp(reply: McpCall): Promise<Response> {
  const { request, message, tools } = reply
  // Loaded when it is first needed.
  if (isStateless(request, message)) return (await import('./stateless-server')).answerStateless(reply)
  const called = calledTool(message, tools)
  const server = new Server(SERVER_INFO, { capabilities: { tools: {} }, instructions: instructionsFor(reply) })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(described) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestId, sendNotification }) =>
    calledResult(reply, params, { id: requestId, signal: request.signal, notify: sendNotification }),
  )
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: called?.isLong !== true })
  await server.connect(transport as Parameters<Server['connect']>[0])
  return transport.handleRequest(request, { parsedBody: message })
}

/** The first version without sessions and `initialize`. */
const FIRST_STATELESS = '2026-07-28'
/** Names the protocol version in `_meta` of every message since then. */
const VERSION_CLAIM = 'io.modelcontextprotocol/protocolVersion'

function isStateless({ headers }: Request, message: unknown): boolean {
  const version = headers.get('mcp-protocol-version') ?? ''
  if (/^\d{4}-\d\d-\d\d$/.test(version) && version >= FIRST_STATELESS) return true
  return Object.hasOwn(Object(memberOf(memberOf(message, 'params'), '_meta')), VERSION_CLAIM)
}
