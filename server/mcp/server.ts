import { type McpCall, memberOf } from './mcp-call'

/**
 * Answers one MCP message: in the stateless protocol of 2026-07-28 if it says so, otherwise in that of 2025-11-25 and before. The SDK of
 * either is loaded when it is first needed.
 */
export async function answerMcp(reply: McpCall): Promise<Response> {
  if (isStateless(reply.request, reply.message)) return (await import('./stateless-server')).answerStateless(reply)
  return (await import('./stateful-server')).answerStateful(reply)
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
