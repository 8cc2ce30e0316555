import type { ParameterTable } from '../core/catalogue/parameters'
import { bodySchema } from '../http/openapi/parameter-documents'
import type { Tool } from './tool'

const REQUEST_ID = {
  request_id: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 128,
    description: 'The id of a call, as its answer told it, or your own.',
  },
} as const satisfies ParameterTable

/** What an agent may know of its own spending; free. `usageQuery` is the table that the route judges by. */
export function accountTools(usageQuery: ParameterTable): Tool[] {
  return [
    {
      name: 'balance',
      title: 'Balance',
      description:
        'What is left to spend: the account’s balance, and what this key or app has used and may still use. Free.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      ...READS,
      route: { kind: 'free', name: 'balance', scope: 'usage:read' },
      call: () => get('/v1/credits/balance'),
    },
    {
      name: 'usage',
      title: 'Usage',
      description:
        'Requests and charges over a range of time, of this key or app, or of the whole account (scope=account, for apps only). Free.',
      inputSchema: { ...bodySchema(usageQuery), type: 'object' },
      ...READS,
      route: { kind: 'free', name: 'usage', scope: 'usage:read' },
      call: (input) => {
        const query = new URLSearchParams()
        for (const [name, value] of Object.entries(input)) query.append(name, String(value))
        return get(`/v1/usage${query.size > 0 ? `?${query}` : ''}`)
      },
    },
    {
      name: 'explain_charge',
      title: 'Explain a charge',
      description: 'How the charge of one call came about: price version, units, arithmetic. Free.',
      inputSchema: { ...bodySchema(REQUEST_ID), type: 'object' },
      ...READS,
      route: { kind: 'free', name: 'usage-request', scope: 'usage:read' },
      call: ({ request_id: id }) =>
        typeof id === 'string' && /^[A-Za-z0-9._:-]{1,128}$/.test(id)
          ? get(`/v1/usage/${encodeURIComponent(id)}`)
          : 'request_id must be the id of a call',
    },
  ]
}

const READS = { isReadOnly: true, isFromOutside: false, isLong: false } as const

function get(path: string) {
  return { method: 'GET', path, headers: {}, body: undefined } as const
}
