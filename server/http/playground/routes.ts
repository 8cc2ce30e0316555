import type { Keys } from '../../core/accounts/keys'
import { accepted, invalidParameter } from '../../core/accounts/submitted'
import { failure } from '../../core/failure'
import { parsedJson } from '../../core/json'
import { beyondBounds, isWithin, SERVED_BODY_BOUNDS } from '../../core/json-bounds'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { readJson, withTakenBody } from '../middleware/input/json-body'
import { readable, validateBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup, withOrigin } from '../middleware/request-context'
import { Failed, notFound, taken } from '../middleware/response/failures'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { costing, READ } from '../routing/cost'
import type { EndpointTable } from '../routing/endpoint-table'
import { TriedCall } from './record'

/** A form of a call, which may have files, and the call that it belongs to. */
const MAX_FORM_BYTES = 17 * 1024 * 1024
const CALL_FIELD = 'call'
const FORM_FIELD = 'form.'
const UNREADABLE_FORM = failure('invalid_request', 'The form must have a field "call" with the call as JSON.')

/** Headers that operations use. No others are forwarded, such as the session cookie or a forged client address. */
const FORWARDED_HEADERS =
  /^(accept|api-version|cache-control|content-type|idempotency-key|x-request-id|x-max-price-usd|x-cost-mode|x-budget-scope|x-loc-[a-z-]+|anthropic-version)$/

/**
 * `POST /api/try`: makes a call with one of the signed-in owner's keys, for the playground. The call is dispatched to the endpoint's
 * own route and passes the same hooks as an external call (key state, address, limits, price, charge), except that no secret is
 * sent. The endpoint's response is returned unchanged, including failures and streams.
 */
export function tryRoutes(
  parts: { owners: OwnerSessions; keys: Keys },
  endpoints: EndpointTable,
  dispatch: (request: Request) => Promise<Response>,
) {
  const { owners, keys } = parts
  return routeGroup({ name: 'try', prefix: '/api' }).post(
    '/try',
    ...allowed(signedIn(owners, 'calls:make'), costing(READ, UNDOCUMENTED), async ({ owner, context }) => {
      const sent = await sentCall(context)
      const { keyId, ...call } = describedCall(sent, context.url.origin, endpoints)
      const key = await keys.find(owner, keyId)
      if (!key) throw notFound('This key does not exist.')
      // A model can be silent for longer than the idle timeout; every endpoint has its own deadline.
      context.allowSilence()
      const { address, request } = context
      const own = new Request(call.url, { ...call.init, signal: request.signal })
      return context.endSilence(await dispatch(withOrigin(own, { ownKey: { id: key.id, address } })))
    }),
  )
}

/** A described call, with the form that is its body. */
interface SentCall {
  readonly call: unknown
  readonly form: FormData | null
}

/** JSON that describes a call, or a multipart form: that JSON in the field `call`, and the fields of the call's own form as `form.NAME`. */
async function sentCall(context: RequestContext): Promise<SentCall> {
  if (!context.request.headers.get('content-type')?.startsWith('multipart/form-data'))
    return { call: taken(await readJson(context)), form: null }
  const request = taken(await withTakenBody(context, MAX_FORM_BYTES))
  const fields = await request.formData().catch(() => null)
  const call = jsonIn(fields?.get(CALL_FIELD))
  if (!fields || call === undefined) throw new Failed(UNREADABLE_FORM)
  const form = new FormData()
  for (const [name, value] of fields) {
    if (!name.startsWith(FORM_FIELD)) continue
    if (typeof value === 'string') form.append(name.slice(FORM_FIELD.length), value)
    else form.append(name.slice(FORM_FIELD.length), value, value.name)
  }
  return { call, form }
}

/** Bounded like every body that this thread parses. */
function jsonIn(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  if (!isWithin(new TextEncoder().encode(text), SERVED_BODY_BOUNDS))
    throw new Failed(failure('invalid_request', beyondBounds(SERVED_BODY_BOUNDS)))
  return parsedJson(text)
}

/** The call that was described. Its form goes out in the content type that its headers name. */
function describedCall(
  { call: described, form }: SentCall,
  origin: string,
  table: EndpointTable,
): { keyId: string; url: URL; init: RequestInit } {
  const sent = validateBody(TriedCall, described)
  const { path, method } = sent.form
  const url = path?.startsWith('/') ? URL.parse(path, origin) : null
  const route = url?.origin === origin && method !== undefined ? table.routeOf(method, url.pathname) : null
  const isKnown = route !== null && route.kind !== 'unmatched'
  const isUnknown = path !== undefined && method !== undefined && !isKnown
  const rule = 'and method must name an endpoint that accepts API keys'
  const call = taken(accepted(sent, isUnknown ? [invalidParameter('path', rule, path)] : []))
  const headers = new Headers()
  for (const [name, value] of Object.entries(call.headers ?? {}))
    if (FORWARDED_HEADERS.test(name.toLowerCase()) && typeof value === 'string') headers.set(name, value)
  const init = { method: call.method, headers }
  const to = { keyId: call.key_id, url: readable(url) }
  if (form) {
    const isMultipart = !headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')
    headers.delete('content-type')
    return { ...to, init: { ...init, body: isMultipart ? form : urlEncoded(form) } }
  }
  if (call.body === undefined) return { ...to, init }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  return { ...to, init: { ...init, body: JSON.stringify(call.body) } }
}

function urlEncoded(form: FormData): URLSearchParams {
  return new URLSearchParams([...form].map(([name, value]) => [name, typeof value === 'string' ? value : value.name]))
}
