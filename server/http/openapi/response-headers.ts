import type { JsonSchema } from './json-schema'

/** The gateway's response headers, for `components.headers`. */
export const RESPONSE_HEADERS = {
  'X-RateLimit-Limit-Requests': count(
    'Requests this key, account or IP address may make per minute. Reports and writes of an account count as several.',
  ),
  'X-RateLimit-Remaining-Requests': count('Requests left this minute.'),
  'X-RateLimit-Reset-Requests': count('UNIX time in seconds when the request counter resets.'),
  'X-RateLimit-Limit-Tokens': count('Model tokens this key may use per minute.'),
  'X-RateLimit-Remaining-Tokens': count('Tokens left this minute.'),
  'X-RateLimit-Reset-Tokens': count('UNIX time in seconds when the token counter resets.'),
  'X-RateLimit-Limit-Concurrency': count('Streaming and long-running requests this key may run concurrently.'),
  'X-RateLimit-Remaining-Concurrency': count('How many more of those can start now.'),
  'Retry-After': count('Seconds to wait before retrying.'),
  'X-Request-ID': words('The X-Request-ID you sent, or the X-Gateway-Request-ID if you sent none.'),
  'X-Gateway-Request-ID': words("The gateway's id of this request, used in usage, charges and support."),
  'X-Cost-Micros-USD': count('What this request cost, in millionths of a US dollar. 0 unless the request succeeded.'),
  'X-Gateway-Removed-Betas': words('Values of anthropic-beta that were not forwarded to the vendor, if any.'),
  'X-Cache': words('Where the model keeps answers: `hit` if this is one that was kept, `miss` otherwise.'),
  'X-Served-By': words('The model that served the request, if others could have served it instead.'),
  'Idempotency-Replayed': words('`true` if this is the response to an earlier request with the same Idempotency-Key.'),
  'WWW-Authenticate': words(
    'How to authenticate (RFC 9110): the scheme to use, and what was wrong with the key you sent. If the endpoint accepts payments, it contains one challenge per offer; offers that can be paid with x402 are also in PAYMENT-REQUIRED.',
  ),
  'API-Version': words('The version of the response format.'),
  Age: count('Seconds since a cached response was created. Absent if the response is fresh.'),
  'Set-Cookie': words('The session cookie.'),
  'Content-Disposition': words('The name of the file.'),
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

export const ID_HEADERS: readonly ResponseHeader[] = ['X-Request-ID', 'X-Gateway-Request-ID']

/** Sent with every response of a route that is counted, whatever its status (spec 8). */
export const LIMIT_HEADERS: readonly ResponseHeader[] = [
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
  'X-RateLimit-Limit-Tokens',
  'X-RateLimit-Remaining-Tokens',
  'X-RateLimit-Reset-Tokens',
  'X-RateLimit-Limit-Concurrency',
  'X-RateLimit-Remaining-Concurrency',
]

export function headerRefs(names: readonly ResponseHeader[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function count(description: string) {
  return { description, schema: { type: 'integer', minimum: 0 } }
}

function words(description: string) {
  return { description, schema: { type: 'string' } }
}
