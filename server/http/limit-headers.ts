import type { Readings } from '../core/limits/limiter'

/** The limit headers of spec 8, with the concurrency pair of spec-answers 9. */
export function setLimitHeaders(headers: Headers, { requests, tokens, concurrency }: Readings): void {
  headers.set('x-ratelimit-limit-requests', String(requests.limit))
  headers.set('x-ratelimit-remaining-requests', String(requests.remaining))
  headers.set('x-ratelimit-reset-requests', String(requests.reset))
  headers.set('x-ratelimit-limit-tokens', String(tokens.limit))
  headers.set('x-ratelimit-remaining-tokens', String(tokens.remaining))
  headers.set('x-ratelimit-reset-tokens', String(tokens.reset))
  headers.set('x-ratelimit-limit-concurrency', String(concurrency.limit))
  headers.set('x-ratelimit-remaining-concurrency', String(concurrency.remaining))
}
