import { parsedJson } from '../../../../server/core/json.ts'
import type { TriedCall } from '../../../../server/http/playground/record.ts'
import type { Sample, SentForm } from '../../sample.ts'
import { type ApiFailure, noResponse, parseFailure } from '../client/failure.ts'

/** A call to try. */
export interface TryCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** The body, where it is a form. */
  readonly form?: SentForm
  readonly payer: Payer
}

/** The payer: one of the owner's keys, through the session; a pasted key, kept only in memory; or none. */
export type Payer =
  | { readonly kind: 'account_key'; readonly keyId: string }
  | { readonly kind: 'pasted_key'; readonly secret: string }
  | { readonly kind: 'nobody' }

export interface TryResponse {
  readonly status: number
  readonly ms: number
  readonly costMicros: number | null
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown
  /** Null for a success. */
  readonly failure: ApiFailure | null
}

/** Makes the call. Resolves to any response, including refusals; throws only if there was none. */
export async function tryCall(call: TryCall): Promise<TryResponse> {
  const startedAt = performance.now()
  const response = await sendTryCall(call).catch(() => {
    throw noResponse()
  })
  const text = await shownBody(response).catch(() => {
    throw noResponse()
  })
  const json = parsedJson(text)
  const cost = response.headers.get('x-cost-micros-usd')
  const retryAfter = response.headers.get('retry-after')
  return {
    status: response.status,
    ms: Math.round(performance.now() - startedAt),
    costMicros: cost === null ? null : Number(cost),
    requestId: response.headers.get('x-gateway-request-id'),
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
    headers: [...response.headers].filter(([name]) => SHOWN.test(name)),
    text,
    json,
    failure: response.ok ? null : parseFailure(response.status, json, retryAfter),
  }
}

const SHOWN =
  /^(x-ratelimit-|x-cost|x-gateway-request-id|x-request-id|api-version|retry-after|www-authenticate|content-type)/

/** Sends the call. `signal` aborts it, even while the response is arriving. */
export function sendTryCall(call: TryCall, signal: AbortSignal | null = null): Promise<Response> {
  const { method, path, headers, body, form, payer } = call
  if (form) return sendForm(call, form, signal)
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  if (payer.kind === 'account_key') {
    const tried: TriedCall = { key_id: payer.keyId, method, path, headers, ...(body !== undefined && { body }) }
    return fetch('/api/try', {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(tried),
    })
  }
  return fetch(path, {
    method,
    signal,
    credentials: 'omit',
    headers: { ...headers, ...bearerOf(payer), ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...content,
  })
}

/** The body as text; of audio and other binary data only the type and the size. */
async function shownBody(response: Response): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  if (!/^(audio\/|application\/octet-stream)/.test(type)) return response.text()
  return `${type}, ${(await response.arrayBuffer()).byteLength} bytes`
}

function bearerOf(payer: Payer): Record<string, string> {
  return payer.kind === 'pasted_key' ? { authorization: `Bearer ${payer.secret}` } : {}
}

/** Sends a call whose body is a form. For one of the owner's keys, another form contains its fields and the call. */
function sendForm({ method, path, headers, payer }: TryCall, form: SentForm, signal: AbortSignal | null) {
  if (payer.kind === 'account_key') {
    const described: TriedCall = {
      key_id: payer.keyId,
      method,
      path,
      headers: { ...headers, 'content-type': form.type },
    }
    const body = new FormData()
    body.append('call', JSON.stringify(described))
    for (const [name, value] of form.fields) body.append(`form.${name}`, value)
    return fetch('/api/try', { method: 'POST', signal, body })
  }
  const body = form.type === 'multipart/form-data' ? new FormData() : new URLSearchParams()
  for (const [name, value] of form.fields) {
    if (body instanceof FormData) body.append(name, value)
    else body.append(name, typeof value === 'string' ? value : value.name)
  }
  return fetch(path, { method, signal, credentials: 'omit', headers: { ...headers, ...bearerOf(payer) }, body })
}

/** Sends a sample from this page with its own key and without the session cookie. Throws `ApiFailure` if it is refused. */
export async function runSample({ method, url, headers, body, key }: Sample): Promise<void> {
  const bearer = key && 'secret' in key ? { authorization: `Bearer ${key.secret}` } : {}
  const response = await fetch(url, {
    method,
    credentials: 'omit',
    headers: { ...headers, ...bearer, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw noResponse()
  })
  if (!response.ok) throw parseFailure(response.status, await response.json().catch(() => null))
}
