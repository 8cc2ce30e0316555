import { brokenGoggles, MAX_INLINE_BYTES } from '../goggles/goggle-entry'
import { micros } from '../money'
import { DATA_HEADERS } from './data-headers'
import type { Operation } from './operation'
import type { ParameterError, Parameters, ParameterTable } from './parameters'
import { REGION, SPELLCHECK } from './search-parameters'

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

/**
 * The forms of the subdivision codes of each country of ISO 3166-1 (A: a letter, 0: a digit), from ISO 3166-2 as of the package
 * iso-3166 4.4.0. Countries without subdivisions of their own are under the empty form.
 */
const COUNTRIES_OF_FORMS: Readonly<Record<string, string>> = {
  AA: 'AE AM BI BJ BN BQ BR BS BW BY CA CD CH CI CL CM CN DE DJ ER ET GE GH GL GY HN HT HU ID IN IQ JO KW LA LB LR LY MC MD MU NA NG NI OM PK QA SB SD SH SK SN SO SR SS SV SY SZ TD TJ TL US UY UZ WF WS YE ZW',
  '': 'AI AQ AS AW AX BL BM BV CC CK CW CX EH FK FO GF GG GI GP GS GU HK HM IM IO JE KY MF MO MP MQ MS NC NF NU PF PM PN PR RE SJ SX TC TF TK VA VG VI YT',
  '00': 'AD AG AL BB BG BH CU CY DM DO DZ FI GD GT HR IR JM JP KE KP KR KZ LC LI ME MM MR MT MY NO NR PL PT RW SA SC SG SM TN TO TR TZ UA UM VC ZM',
  AAA: 'AF AO BA BE FM GB MX NZ PE PG PS TT TV TW VU',
  'A AA': 'CR CV EC ES GN GQ GW IE IL KG LU MW RO SE SL',
  A: 'AR BO GM KI KM LS MG TG TM VE',
  'AA AAA': 'AU AZ BZ CF CO RU ZA',
  '00 A': 'BD FJ GR KN ST TH',
  '00 AA': 'BT IT LT RS VN',
  '00 AAA': 'BF MA MV PH',
  '0': 'AT GA NE',
  '0 00 AAA': 'CG ML PY',
  '000': 'MK PW SI',
  '00 000': 'DK EE',
  '0 00': 'KH LK',
  'A AAA': 'MH MZ',
  '00 000 00A': 'CZ',
  'A AA AAA': 'EG',
  '00 000 00A 0A 0AA AA AAA': 'FR',
  '0 AAA': 'IS',
  '000 AAA': 'LV',
  '0 000': 'MN',
  'AA AA0': 'NL',
  A0: 'NP',
  '0 00 AA': 'PA',
  '000 A': 'UG',
}

const FORMS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(COUNTRIES_OF_FORMS).flatMap(([forms, countries]) =>
    countries.split(' ').map((country) => [country, new Set(forms.split(' '))] as const),
  ),
)

/** Whether this is the alpha-2 code of a country, in either letter case (ISO 3166-1). */
function isCountry(code: string): boolean {
  return FORMS.has(code.toUpperCase())
}

/** Whether this has the form of a subdivision code of the country, without its prefix (ISO 3166-2). */
function isSubdivisionOf(country: string, code: string): boolean {
  const form = code.toUpperCase().replace(/[A-Z]/g, 'A').replace(/[0-9]/g, '0')
  return FORMS.get(country.toUpperCase())?.has(form) ?? false
}
