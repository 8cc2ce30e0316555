import { micros } from '../money'
import { DATA_HEADERS } from './data-headers'
import type { Operation } from './operation'
import type { Parameters, ParameterTable } from './parameters'
import { COUNTRIES, SEARCH_LANGUAGES } from './regions'

const PARAMETERS = {
  q: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 400,
    maxWords: 50,
    description: 'The words to search for.',
    example: 'credit card',
  },
  count: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 200,
    default: 50,
    description: 'Most images to return; the number delivered may be lower. There is no pagination.',
  },
  country: {
    in: 'query',
    kind: 'enum',
    values: COUNTRIES,
    default: 'US',
    anyCase: true,
    description: 'Country the results should suit; `ALL` is worldwide.',
  },
  search_lang: {
    in: 'query',
    kind: 'enum',
    values: SEARCH_LANGUAGES,
    default: 'en',
    anyCase: true,
    description: 'Language the results should be in.',
  },
  safesearch: {
    in: 'query',
    kind: 'enum',
    values: ['off', 'strict'],
    default: 'strict',
    description: '`strict` drops adult content; `off` filters only illegal content.',
  },
  spellcheck: {
    in: 'query',
    kind: 'boolean',
    default: true,
    description: 'Correct the spelling; the corrected query is always the one searched.',
  },
  ...DATA_HEADERS,
} as const satisfies ParameterTable

export type ImageSearchInput = Parameters<typeof PARAMETERS>

/** GET /apis/v1/websearch/images/search (spec 4.1). */
export const IMAGE_SEARCH: Operation<typeof PARAMETERS> = {
  name: 'image-search',
  title: 'Image search',
  description: 'Finds images by words. Answers with titles, page addresses, image addresses and sizes.',
  path: '/apis/v1/websearch/images/search',
  methods: ['GET'],
  parameters: PARAMETERS,
  price: micros(5000),
  takesConcurrency: false,
  timeoutMs: 10_000,
  example: { q: 'credit card' },
}
