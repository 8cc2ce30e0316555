import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { calledResult, calledTool, described, instructionsFor, type McpCall, SERVER_INFO } from './mcp-call'

/**
 * Answers one message of the protocol 2025-11-25 and before, whose SDK asks for one server and transport per request. Long tools respond
 * with server-sent events and progress, everything else with one JSON document.
 */
export async function answerStateful(reply: McpCall): Promise<Response> {
  const { request, message, tools } = reply
  const called = calledTool(message, tools)
  const server = new Server(SERVER_INFO, { capabilities: { tools: {} }, instructions: instructionsFor(reply) })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.filter(reply.isListed).map(described) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { requestId, sendNotification }) =>
    calledResult(reply, params, { id: requestId, signal: request.signal, notify: sendNotification }),
  )
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: called?.isLong !== true || !reply.takesEvents,
  })
  await server.connect(transport as Parameters<Server['connect']>[0])
  return transport.handleRequest(request, { parsedBody: message })
}
