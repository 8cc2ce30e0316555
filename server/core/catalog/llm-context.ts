import { brokenGoggles, MAX_INLINE_BYTES } from '../goggles/goggle-entry'
import { micros } from '../money'
import { DATA_HEADERS } from './data-headers'
import type { Operation } from './operation'
import type { ParameterError, Parameters, ParameterTable } from './parameters'
import { REGION, SPELLCHECK } from './search-parameters'
import { isCountry, isSubdivisionOf } from './subdivisions'

const FRESHNESS = /^(p[dwmy]|\d{4}-\d{2}-\d{2}to\d{4}-\d{2}-\d{2})$/
const FRESHNESS_RULE = 'must be pd, pw, pm, py or YYYY-MM-DDtoYYYY-MM-DD with real dates, the earlier one first'

/** Checks a `freshness` value (spec 4.2). Returns the broken rule, or null. */
function brokenFreshness(text: string): string | null {
  if (/^p[dwmy]$/.test(text)) return null
  const range = /^(\d{4}-\d{2}-\d{2})to(\d{4}-\d{2}-\d{2})$/.exec(text)
  const [from, to] = [range?.[1], range?.[2]]
  return from && to && isRealDate(from) && isRealDate(to) && from <= to ? null : FRESHNESS_RULE
}

function isRealDate(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

const COUNTRY_RULE = 'must be a two-letter ISO 3166-1 alpha-2 code'

const LOCATION_HEADERS = {
  'x-loc-city': { in: 'header', kind: 'text', min: 1, max: 200, description: 'Generic city name.', example: 'Berlin' },
  'x-loc-country': {
    in: 'header',
    kind: 'text',
    min: 2,
    max: 2,
    pattern: { source: /^[A-Za-z]{2}$/, rule: COUNTRY_RULE },
    check: (code) => (isCountry(code) ? null : COUNTRY_RULE),
    description: 'Two-letter ISO 3166-1 alpha-2 code.',
    example: 'DE',
  },
  'x-loc-lat': { in: 'header', kind: 'number', min: -90, max: 90, description: 'Latitude.', example: 52.52 },
  'x-loc-long': { in: 'header', kind: 'number', min: -180, max: 180, description: 'Longitude.', example: 13.405 },
  'x-loc-postal-code': { in: 'header', kind: 'text', min: 1, max: 32, description: 'Postal code.', example: '10117' },
  'x-loc-state': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 3,
    pattern: { source: /^[A-Za-z0-9]{1,3}$/, rule: 'must be an ISO 3166-2 subdivision code of up to three characters' },
    description:
      'First-level ISO 3166-2 subdivision code, up to three characters, without the prefix of the country. With `x-loc-country` it must have the form of that country.',
    example: 'BE',
  },
  'x-loc-state-name': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 200,
    description: 'Name of that subdivision.',
    example: 'Berlin',
  },
} as const satisfies ParameterTable

const PARAMETERS = {
  q: {
    in: 'query',
    kind: 'text',
    required: true,
    min: 1,
    max: 600,
    maxWords: 75,
    description: 'The search query.',
    example: 'drizzle relations',
  },
  context_threshold_mode: {
    in: 'query',
    kind: 'enum',
    values: ['disabled', 'strict', 'lenient', 'balanced'],
    description: 'How relevant content must be to be included.',
    example: 'balanced',
  },
  count: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 50,
    default: 20,
    description: 'Maximum number of search results to consider.',
  },
  ...REGION,
  enable_local: {
    in: 'query',
    kind: 'boolean',
    description:
      'Local recall. Unset means automatic: on when `x-loc-lat` with `x-loc-long`, or `x-loc-city`, is supplied.',
    example: false,
  },
  enable_source_metadata: {
    in: 'query',
    kind: 'boolean',
    default: false,
    description: 'Adds site name, favicon, thumbnail, description and fetch time to each source.',
  },
  freshness: {
    in: 'query',
    kind: 'text',
    min: 2,
    max: 24,
    emptyIsDefault: true,
    pattern: { source: FRESHNESS, rule: FRESHNESS_RULE },
    check: brokenFreshness,
    example: 'py',
    description:
      'Age of the page: `pd` 24 hours, `pw` 7 days, `pm` 31 days, `py` 365 days, or `YYYY-MM-DDtoYYYY-MM-DD`.',
  },
  goggles: {
    in: 'query',
    kind: 'list',
    maxEntries: 3,
    maxLength: MAX_INLINE_BYTES,
    check: brokenGoggles,
    description: 'Custom re-ranking: up to 3 URLs or inline definitions. Their instructions are combined.',
    example: ['$boost=3,site=orm.drizzle.team'],
  },
  maximum_number_of_snippets: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 256,
    default: 50,
    description: 'Maximum number of snippets in total.',
  },
  maximum_number_of_snippets_per_url: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 100,
    default: 50,
    description: 'Maximum number of snippets per page.',
  },
  maximum_number_of_tokens: {
    in: 'query',
    kind: 'integer',
    min: 1024,
    max: 32768,
    default: 8192,
    description: 'Maximum number of tokens of context in total (approximate).',
  },
  maximum_number_of_tokens_per_url: {
    in: 'query',
    kind: 'integer',
    min: 512,
    max: 8192,
    default: 4096,
    description: 'Maximum number of tokens of context per page (approximate).',
  },
  maximum_number_of_urls: {
    in: 'query',
    kind: 'integer',
    min: 1,
    max: 50,
    default: 20,
    description: 'Maximum number of pages in the response.',
  },
  safesearch: {
    in: 'query',
    kind: 'enum',
    values: ['off', 'moderate', 'strict'],
    description: 'Adult filter. Unset means none, except local recall, which stays `strict`.',
    example: 'moderate',
  },
  ...SPELLCHECK,
  ...LOCATION_HEADERS,
  ...DATA_HEADERS,
} as const satisfies ParameterTable

export type LlmContextInput = Parameters<typeof PARAMETERS>

/** A state must have the form of its country's codes. Without a country, which one it is of is unknown. */
function brokenState({ 'x-loc-country': country, 'x-loc-state': state }: LlmContextInput): readonly ParameterError[] {
  if (country === undefined || state === undefined || isSubdivisionOf(country, state)) return []
  const rule = `must be an ISO 3166-2 subdivision code of ${country.toUpperCase()}, without its prefix`
  return [{ param: 'x-loc-state', in: 'header', code: 'invalid_parameter', rule, received: state }]
}

/** GET and read-only POST /apis/v1/websearch/llm/context (spec 4.2). */
export const LLM_CONTEXT: Operation<typeof PARAMETERS> = {
  name: 'llm-context',
  title: 'LLM context search',
  description: 'Finds passages of web pages, within a token budget, to ground a language model.',
  path: '/apis/v1/websearch/llm/context',
  methods: ['GET', 'POST'],
  parameters: PARAMETERS,
  between: brokenState,
  price: micros(5000),
  unit: 'request',
  scope: 'data:read',
  payable: true,
  takesConcurrency: false,
  timeoutMs: 10_000,
  example: { q: 'drizzle relations' },
}
