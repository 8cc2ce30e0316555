import type { JsonSchema } from './json-schema'

/** Every header that an answer can carry beside the usual ones, for `components.headers`. */
export const RESPONSE_HEADERS = {
  'X-RateLimit-Limit-Requests': count('Requests this key (or this address) may make in a minute.'),
  'X-RateLimit-Remaining-Requests': count('Requests left this minute.'),
  'X-RateLimit-Reset-Requests': count('UNIX time in seconds at which the request counter starts anew.'),
  'X-RateLimit-Limit-Tokens': count('Tokens of model endpoints this key may use in a minute.'),
  'X-RateLimit-Remaining-Tokens': count('Tokens left this minute.'),
  'X-RateLimit-Reset-Tokens': count('UNIX time in seconds at which the token counter starts anew.'),
  'X-RateLimit-Limit-Concurrency': count('Streaming and long-running requests this key may have under way at once.'),
  'X-RateLimit-Remaining-Concurrency': count('Of those, how many more may begin now.'),
  'Retry-After': count('Seconds to wait before the next try.'),
  'X-Request-ID': words('Your own X-Request-ID, or the X-Gateway-Request-ID where you sent none.'),
  'X-Gateway-Request-ID': words('Our id of this request: the one that usage, charges and support know.'),
  'X-Cost-Micros-USD': count('What this request cost, in millionths of a US dollar. 0 for everything but a success.'),
  'X-Gateway-Removed-Betas': words('Values of anthropic-beta that the vendor did not get, where there were any.'),
  'Idempotency-Replayed': words(
    '`true` where this is the answer to an earlier request under the same Idempotency-Key.',
  ),
  'WWW-Authenticate': words(
    'How to get in (RFC 9110): the scheme to use, and what was wrong with the key that was sent. Where a payment is taken, one challenge per offer; an offer that x402 takes too stands in PAYMENT-REQUIRED as well.',
  ),
  'API-Version': words('The version of the answer.'),
  Age: count('Seconds since the answer was made, when it was kept from an earlier call. Absent on a fresh one.'),
  'Set-Cookie': words('The session cookie.'),
  'Content-Disposition': words('The name of the file.'),
} as const

export type ResponseHeader = keyof typeof RESPONSE_HEADERS

export const ID_HEADERS: readonly ResponseHeader[] = ['X-Request-ID', 'X-Gateway-Request-ID']

/** On every answer below /apis and /v1, whatever its status (spec 8). */
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
