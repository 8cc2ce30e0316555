import type { ModelOperationName } from '../../core/catalogue/operation'
import { OPERATIONS } from '../../core/catalogue/operations'
import { failure } from '../../core/failure'
import type { Route } from '../../pipeline/call'
import { GENERATE_PATH } from './google-path'
import { pathPattern } from './path-pattern'

/** Where keys are taken and limits are shown (spec-answers 9). */
const GATED = /^\/(apis|v1|v1beta|mcp)(\/|$)/

export function isGated(path: string): boolean {
  return EXACT.has(path) || GATED.test(path)
}

/** What says how the server is; answered as long as it can be. */
export function isProbe(path: string): boolean {
  return path === '/health' || path === '/ready'
}

interface Endpoint {
  readonly path: string
  readonly pattern: RegExp
  readonly methods: readonly string[]
  readonly route: Route
}

const ENDPOINTS: readonly Endpoint[] = [
  ...Object.values(OPERATIONS).map((operation) => ({
    path: operation.path,
    pattern: pathPattern(operation.path),
    methods: operation.methods,
    route: {
      kind: 'priced' as const,
      operation: operation.name,
      ...(operation.payable && { payable: true as const }),
    },
  })),
  model('/v1/chat/completions', 'chat-completions'),
  model('/v1/messages', 'messages'),
  {
    ...model('/v1beta/models/:model', 'generate-content', 30),
    pattern: GENERATE_PATH,
  },
  model('/v1/deep-research', 'deep-research', 5),
  free('/v1/models', 'models'),
  { ...free('/v1/models/:model', 'model'), pattern: /^\/v1\/models\/[^/]+(\/[^/]+)*$/ },
  free('/v1/usage', 'usage'),
  free('/v1/usage/:id', 'usage-request'),
  free('/v1/credits/balance', 'balance'),
  free('/v1/whoami', 'whoami'),
  free('/apis/v1/social/auth_social', 'social-link', 'POST'),
  open('/apis/v1/social/oauth_callback'),
  { ...open('/apis/v1/social/oauth_callback/confirm'), methods: ['POST'] },
  free('/v1/keys', 'keys', 'GET', 'POST'),
  free('/v1/keys/:id', 'keys', 'GET', 'PATCH'),
  ...['rotate', 'disable', 'enable', 'revoke'].map((change) => free(`/v1/keys/:id/${change}`, 'keys', 'POST')),
  free('/v1/topups', 'topups', 'GET', 'POST'),
  free('/mcp', 'mcp', 'POST'),
  { ...open('/mcp/paid'), methods: ['POST'], route: { kind: 'public', paymentInBody: true } },
  {
    path: '/v1/wallet/topups',
    pattern: pathPattern('/v1/wallet/topups'),
    methods: ['POST'],
    route: { kind: 'free', name: 'wallet-topup', takesPayment: true },
  },
]

/** Nearly every request is for a path without a parameter: it is found without a pattern. */
const EXACT = new Map(ENDPOINTS.map((endpoint) => [endpoint.path, endpoint]))

/** Where a gated request goes. What is not in the table is a 404, a wrong method a 405 with `Allow`: HEAD never runs a GET. */
export function routeOf(method: string, path: string): Route {
  const endpoint = EXACT.get(path) ?? ENDPOINTS.find((candidate) => candidate.pattern.test(path))
  if (!endpoint) return { kind: 'unmatched', failure: failure('unknown_endpoint', 'There is no such endpoint.') }
  if (endpoint.methods.includes(method)) return endpoint.route
  const allow = endpoint.methods
  const message = `This endpoint takes ${allow.join(' and ')}, not ${method}.`
  return { kind: 'unmatched', failure: failure('method_not_allowed', message, { allow }) }
}

function free(path: string, name: string, ...methods: readonly string[]): Endpoint {
  return {
    path,
    pattern: pathPattern(path),
    methods: methods.length > 0 ? methods : ['GET'],
    route: { kind: 'free', name },
  }
}

function open(path: string): Endpoint {
  return { path, pattern: pathPattern(path), methods: ['GET'], route: { kind: 'public' } }
}

/** A route of models: with a key only, and, where it has one, a window beside the key's (spec 8). */
function model(path: string, operation: ModelOperationName, rpm?: number): Endpoint {
  const window = rpm === undefined ? {} : { window: { name: operation, rpm } }
  return {
    path,
    pattern: pathPattern(path),
    methods: ['POST'],
    route: { kind: 'priced', operation, ...window },
  }
}
