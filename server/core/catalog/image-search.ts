import { micros } from '../money'
import { DATA_HEADERS } from './data-headers'
import type { Operation } from './operation'
import type { Parameters, ParameterTable } from './parameters'
import { REGION, SPELLCHECK } from './search-parameters'

const PARAMETERS = {
  q: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 400,
    maxWords: 50,
    description: 'The search query.',
    example: 'credit card',
  },
  count: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 200,
    default: 50,
    description: 'Maximum number of images. Fewer may be returned. There is no pagination.',
  },
  ...REGION,
  safesearch: {
    in: 'query',
    kind: 'enum',
    values: ['off', 'strict'],
    default: 'strict',
    description: '`strict` drops adult content; `off` filters only illegal content.',
  },
  ...SPELLCHECK,
  ...DATA_HEADERS,
} as const satisfies ParameterTable

export type ImageSearchInput = Parameters<typeof PARAMETERS>

/** GET /apis/v1/websearch/images/search (spec 4.1). */
export const IMAGE_SEARCH: Operation<typeof PARAMETERS> = {
  name: 'image-search',
  title: 'Image search',
  description: 'Searches for images. Returns titles, page URLs, image URLs and sizes.',
  path: '/apis/v1/websearch/images/search',
  methods: ['GET'],
  parameters: PARAMETERS,
  price: micros(5000),
  unit: 'request',
  scope: 'data:read',
  payable: true,
  takesConcurrency: false,
  timeoutMs: 10_000,
  example: { q: 'credit card' },
}
