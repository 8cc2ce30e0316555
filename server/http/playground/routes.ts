import type { Keys } from '../../core/accounts/keys'
import { accepted, wrong } from '../../core/accounts/submitted'
import { notFound, taken } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import { OwnKeyRequest } from '../middleware/own-key-request'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { readable, validateBody } from '../middleware/validate-body'
import { UNDOCUMENTED } from '../openapi/documented'
import type { Endpoints, EndpointTable } from '../routing/endpoint-table'
import { TriedCall } from './record'

/** Headers that operations use. No others are forwarded, such as the session cookie or a forged client address. */
const FORWARDED_HEADERS =
  /^(accept|api-version|cache-control|content-type|idempotency-key|x-request-id|x-max-price-usd|x-cost-mode|x-loc-[a-z-]+|anthropic-version)$/

/**
 * `POST /api/try`: makes a call with one of the signed-in owner's keys, for the playground. The call is dispatched to the endpoint's
 * own route and passes the same hooks as an external call (key state, address, limits, price, charge), except that no secret is
 * sent. The endpoint's response is returned unchanged, including failures and streams.
 */
export function tryRoutes(
  parts: { owners: OwnerSessions; keys: Keys },
  endpoints: Endpoints,
  dispatch: (request: OwnKeyRequest) => Promise<Response>,
) {
  const { owners, keys } = parts
  return routeGroup({ name: 'try', prefix: '/api' }).post(
    '/try',
    async ({ context }) => {
      const { accountId } = await owners.owner(context)
      const { keyId, ...call } = describedCall(taken(await readJson(context)), context.url.origin, endpoints.table)
      const key = await keys.find(accountId, keyId)
      if (!key) throw notFound('This key does not exist.')
      // A model can be silent for longer than the idle timeout; every endpoint has its own deadline.
      context.allowSilence()
      const { address, request } = context
      return dispatch(new OwnKeyRequest(call.url, { ...call.init, signal: request.signal }, { key: key.id, address }))
    },
    { parse: 'none', ...UNDOCUMENTED },
  )
}

/** The call that the body describes. */
function describedCall(
  body: unknown,
  origin: string,
  table: EndpointTable,
): { keyId: string; url: URL; init: RequestInit } {
  const sent = validateBody(TriedCall, body)
  const { path, method } = sent.form
  const url = path?.startsWith('/') ? URL.parse(path, origin) : null
  const route = url?.origin === origin && method !== undefined ? table.routeOf(method, url.pathname) : null
  const isKnown = route !== null && route.kind !== 'unmatched'
  const isUnknown = path !== undefined && method !== undefined && !isKnown
  const rule = 'and method must name an endpoint that accepts API keys'
  const call = taken(accepted(sent, isUnknown ? [wrong('path', rule, path)] : []))
  const headers = new Headers()
  for (const [name, value] of Object.entries(call.headers ?? {}))
    if (FORWARDED_HEADERS.test(name.toLowerCase()) && typeof value === 'string') headers.set(name, value)
  if (call.body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
  return {
    keyId: call.key_id,
    url: readable(url),
    init: { method: call.method, headers, ...(call.body !== undefined && { body: JSON.stringify(call.body) }) },
  }
}
