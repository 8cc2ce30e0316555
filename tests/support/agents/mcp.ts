import type { Harness, MadeKey } from '../harness'

export interface McpAnswer {
  readonly status: number
  readonly headers: Headers
  readonly message: {
    readonly id?: string | number
    readonly result?: Record<string, unknown> & {
      readonly tools?: readonly { readonly name: string; readonly description: string; readonly inputSchema: object }[]
      readonly isError?: boolean
      readonly content?: readonly { readonly type: string; readonly text: string }[]
      readonly structuredContent?: Record<string, unknown>
      readonly _meta?: Record<string, unknown>
    }
    readonly error?: { readonly code: number | string; readonly message: string; readonly data?: unknown }
  }
  /** The part of a stream before the answer. */
  readonly notifications: readonly { readonly method: string; readonly params: Record<string, unknown> }[]
}

let ids = 0

/** One JSON-RPC message to the MCP server, as a client would send it. */
export async function mcp(
  gateway: Harness,
  key: MadeKey | string | null,
  method: string,
  params: Record<string, unknown> = {},
  init: { headers?: Record<string, string>; id?: string | number | null; signal?: AbortSignal; path?: string } = {},
): Promise<McpAnswer> {
  const id = init.id === undefined ? ++ids : init.id
  const request: RequestInit = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...init.headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...(id !== null && { id }), method, params }),
    ...(init.signal && { signal: init.signal }),
  }
  const { path = '/mcp' } = init
  const answer = key === null ? await gateway.call(path, request) : await gateway.as(key, path, request)
  const text = await answer.text()
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
  const messages = isStream
    ? [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? 'null'))
    : text
      ? [JSON.parse(text)]
      : [{}]
  return {
    status: answer.status,
    headers: answer.headers,
    message: messages.at(-1),
    notifications: messages.slice(0, -1),
  }
}

export function callTool(
  gateway: Harness,
  key: MadeKey | string,
  name: string,
  input: Record<string, unknown> = {},
  more = {},
) {
  return mcp(gateway, key, 'tools/call', { name, arguments: input, ...more })
}
