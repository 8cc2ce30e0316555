import type { ParameterTable } from '../core/catalog/parameters'
import { SOCIAL_SCOPES } from '../core/social/scopes'
import { bodySchema } from '../http/openapi/parameter-documents'
import type { Tool } from './tool'

const REQUEST_ID = {
  request_id: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 128,
    description: 'The request id from the response (X-Gateway-Request-ID), or your own X-Request-ID.',
  },
} as const satisfies ParameterTable

/** Free tools for an agent's own spending. `usageQuery` is the validation table of the usage route. */
export function accountTools(usageQuery: ParameterTable): Tool[] {
  return [
    {
      name: 'models',
      title: 'Models',
      description: 'Lists the models of this gateway with their ids and prices in USD per million tokens. Free.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      ...READS,
      route: { kind: 'free', name: 'models', scope: 'any' },
      call: () => get('/v1/models'),
    },
    {
      name: 'social_link',
      title: 'Link a social account',
      description:
        'Starts linking a social-network account to this API key, which the other social tools need. Returns auth_url: ask the person to open it in a browser within 10 minutes and to approve. Free.',
      inputSchema: {
        type: 'object',
        properties: {
          scopes: { type: 'array', items: { type: 'string', enum: SOCIAL_SCOPES }, description: 'Default: all.' },
          key_id: { type: 'string', description: 'Only with an access token: the API key to link to.' },
        },
        additionalProperties: false,
      },
      isReadOnly: false,
      isDestructive: false,
      isIdempotent: false,
      isFromOutside: false,
      isLong: false,
      route: { kind: 'free', name: 'social-link', scope: 'social:write' },
      call: (body) => ({ method: 'POST', path: '/apis/v1/social/auth_social', headers: {}, body }),
    },
    {
      name: 'balance',
      title: 'Balance',
      description:
        'Returns the remaining balance of the account, and what this key or app has spent and can still spend. Free.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      ...READS,
      route: { kind: 'free', name: 'balance', scope: 'usage:read' },
      call: () => get('/v1/credits/balance'),
    },
    {
      name: 'usage',
      title: 'Usage',
      description:
        'Returns requests and charges over a time range for this key or app, or for the whole account (scope=account, apps only). Free.',
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
      description: 'Explains how the charge of one call was calculated: price version, units and arithmetic. Free.',
      inputSchema: { ...bodySchema(REQUEST_ID), type: 'object' },
      ...READS,
      route: { kind: 'free', name: 'usage-request', scope: 'usage:read' },
      call: ({ request_id: id }) =>
        typeof id === 'string' && /^[A-Za-z0-9._:-]{1,128}$/.test(id)
          ? get(`/v1/usage/${encodeURIComponent(id)}`)
          : 'request_id must be the id of a request: 1 to 128 characters of A-Z a-z 0-9 . _ : -',
    },
  ]
}

const READS = {
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  isFromOutside: false,
  isLong: false,
} as const

function get(path: string) {
  return { method: 'GET', path, headers: {}, body: undefined } as const
}
