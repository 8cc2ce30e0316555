import type { Readings } from '../../core/limits/limiter'

/** The limit headers of spec 8, with the concurrency pair of spec-answers 9. */
export function limitHeaders({ requests, tokens, concurrency }: Readings): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(requests.limit),
    'x-ratelimit-remaining-requests': String(requests.remaining),
    'x-ratelimit-reset-requests': String(requests.reset),
    'x-ratelimit-limit-tokens': String(tokens.limit),
    'x-ratelimit-remaining-tokens': String(tokens.remaining),
    'x-ratelimit-reset-tokens': String(tokens.reset),
    'x-ratelimit-limit-concurrency': String(concurrency.limit),
    'x-ratelimit-remaining-concurrency': String(concurrency.remaining),
  }
}
