import type { Keys } from '../../core/accounts/keys'
import { accepted, wrong } from '../../core/accounts/submitted'
import { notFound, taken } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import { judgeBody, readable } from '../middleware/judge-body'
import { OwnKeyRequest } from '../middleware/own-key-request'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import type { Endpoints, EndpointTable } from '../routing/endpoint-table'
import { TriedCall } from './record'

/** Headers that mean something to an operation. No others go on: neither the session's cookie nor a forged address. */
const SENT_ON =
  /^(accept|api-version|cache-control|content-type|idempotency-key|x-request-id|x-max-price-usd|x-cost-mode|x-loc-[a-z-]+|anthropic-version)$/

/**
 * `POST /api/try`: one gated call by a key of the owner who is signed in, for the playground. It goes the whole way of a call
 * (key state, address, limits, price, charge to the key's pool and the account), only the secret is not shown. The answer is the
 * call's own, unchanged: any endpoint, its failures and its streams. So the call is dispatched to the endpoint's own route, past the
 * same hooks as one from outside, and is authenticated, read and sold there; nothing is done twice.
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
      const { keyId, ...asked } = wanted(taken(await readJson(context)), context.url.origin, endpoints.table)
      const key = await keys.find(accountId, keyId)
      if (!key) throw notFound('This key does not exist.')
      // A model may think longer than a connection may be idle; what is called bounds its own time.
      context.allowSilence()
      const { address, request } = context
      return dispatch(new OwnKeyRequest(asked.url, { ...asked.init, signal: request.signal }, { key: key.id, address }))
    },
    { parse: 'none', ...UNDOCUMENTED },
  )
}

/** The call that the body describes. */
function wanted(body: unknown, origin: string, table: EndpointTable): { keyId: string; url: URL; init: RequestInit } {
  const sent = judgeBody(TriedCall, body)
  const { path, method } = sent.form
  const url = path?.startsWith('/') ? URL.parse(path, origin) : null
  const route = url?.origin === origin && method !== undefined ? table.routeOf(method, url.pathname) : null
  const isKnown = route !== null && route.kind !== 'unmatched'
  const isUnknown = path !== undefined && method !== undefined && !isKnown
  const rule = 'with method must be an endpoint that takes a key'
  const call = taken(accepted(sent, isUnknown ? [wrong('path', rule, path)] : []))
  const headers = new Headers()
  for (const [name, value] of Object.entries(call.headers ?? {}))
    if (SENT_ON.test(name.toLowerCase()) && typeof value === 'string') headers.set(name, value)
  if (call.body !== undefined && !headers.has('content-type')) headers.set('content-type', 'application/json')
  return {
    keyId: call.key_id,
    url: readable(url),
    init: { method: call.method, headers, ...(call.body !== undefined && { body: JSON.stringify(call.body) }) },
  }
}
