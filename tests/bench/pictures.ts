import type { Api } from '../../server/core/apis/api'
import { anApi, anOperation } from '../support/apis'

/** An image search with the parameters of the built-in one. The upstream wants a key, which no answer may contain. */
export function pictures(baseUrl: string): Api {
  const parameter = (name: string, schema: object) => ({
    name,
    in: 'query' as const,
    required: name === 'q',
    description: '',
    style: 'form' as const,
    explode: true,
    schema: { ...schema },
  })
  return anApi({
    name: 'pictures',
    concurrency: 10_000,
    baseUrl,
    auth: { kind: 'header', name: 'x-api-key', secret: { from: 'environment', name: 'UPSTREAM_BENCH_KEY' } },
    operations: [
      anOperation({
        id: 'search',
        path: '/images/search',
        parameters: [
          parameter('q', { type: 'string', minLength: 1, maxLength: 400 }),
          parameter('count', { type: 'integer', minimum: 1, maximum: 200 }),
          parameter('country', { type: 'string', pattern: '^[A-Z]{2}$' }),
          parameter('safesearch', { enum: ['off', 'strict'] }),
        ],
      }),
    ],
  })
}
