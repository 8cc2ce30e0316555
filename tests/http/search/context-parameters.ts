import { words } from './parameter-sets'

/** The parameter rows of spec 4.2 as tables. */

export const DEFAULTS = {
  q: 'card',
  count: 20,
  country: 'US',
  search_lang: 'en',
  enable_source_metadata: false,
  maximum_number_of_snippets: 50,
  maximum_number_of_snippets_per_url: 50,
  maximum_number_of_tokens: 8192,
  maximum_number_of_tokens_per_url: 4096,
  maximum_number_of_urls: 20,
  spellcheck: true,
  'api-version': '2026-07-31',
}

/** Name, least, most. */
export const INTEGERS: readonly (readonly [string, number, number])[] = [
  ['count', 1, 50],
  ['maximum_number_of_snippets', 1, 256],
  ['maximum_number_of_snippets_per_url', 1, 100],
  ['maximum_number_of_tokens', 1024, 32768],
  ['maximum_number_of_tokens_per_url', 512, 8192],
  ['maximum_number_of_urls', 1, 50],
]

export const BOOLEANS = ['enable_local', 'enable_source_metadata', 'spellcheck'] as const

/** Name and all values, for the parameters whose set is short. */
export const CHOICES: readonly (readonly [string, readonly string[]])[] = [
  ['context_threshold_mode', ['disabled', 'strict', 'lenient', 'balanced']],
  ['safesearch', ['off', 'moderate', 'strict']],
  ['freshness', ['pd', 'pw', 'pm', 'py', '2026-01-01to2026-01-31', '2024-02-29to2024-02-29']],
]

/** Text that is right: what it shows, name, value, and the value that the provider gets. */
export const GOOD_TEXT: readonly (readonly [string, string, string, string])[] = [
  ['q of 1 character', 'q', 'a', 'a'],
  ['q of 600 characters', 'q', 'a'.repeat(600), 'a'.repeat(600)],
  ['q of 600 code points that are 1200 UTF-16 units', 'q', '😀'.repeat(600), '😀'.repeat(600)],
  ['q of 75 words', 'q', words(75), words(75)],
  ['country in lower case', 'country', 'all', 'ALL'],
  ['search_lang in upper case', 'search_lang', 'PT-BR', 'pt-br'],
]

/** Text that is wrong: what it shows, name, value, and the rule that is told. */
export const BAD_TEXT: readonly (readonly [string, string, string, RegExp])[] = [
  ['q empty', 'q', '', /empty/],
  ['q of white space only', 'q', ' \t\u00a0\u2003', /empty/],
  ['q of 601 characters', 'q', 'a'.repeat(601), /1 to 600.*601/],
  ['q of 601 code points', 'q', '😀'.repeat(601), /1 to 600.*601/],
  ['q of 76 words', 'q', words(76), /75 words.*76/],
  ['context_threshold_mode outside the set', 'context_threshold_mode', 'loose', /disabled strict lenient balanced/],
  ['context_threshold_mode empty', 'context_threshold_mode', '', /empty/],
  ['country outside the set', 'country', 'XX', /AR AU .* ALL$/],
  ['search_lang outside the set', 'search_lang', 'xx', /ar eu .* vi$/],
  ['safesearch outside the set', 'safesearch', 'medium', /off moderate strict/],
  ['safesearch empty', 'safesearch', '', /empty/],
  ['freshness outside the set', 'freshness', 'pz', /pd, pw, pm, py/],
  ['freshness of a date that is none', 'freshness', '2026-02-30to2026-03-01', /real dates/],
  ['freshness backwards', 'freshness', '2026-02-02to2026-02-01', /earlier one first/],
  ['freshness of one date', 'freshness', '2026-02-02', /YYYY-MM-DDtoYYYY-MM-DD/],
]

/** Name, value, and what the provider gets. */
export const GOOD_LOCATION: readonly (readonly [string, string, string | number])[] = [
  ['x-loc-city', 'Berlin', 'Berlin'],
  ['x-loc-country', 'DE', 'DE'],
  ['x-loc-country', 'de', 'de'],
  ['x-loc-lat', '-90', -90],
  ['x-loc-lat', '90', 90],
  ['x-loc-lat', '52.52', 52.52],
  ['x-loc-long', '-180', -180],
  ['x-loc-long', '180', 180],
  ['x-loc-long', '+13.405', 13.405],
  ['x-loc-postal-code', '10115', '10115'],
  ['x-loc-state', 'BE', 'BE'],
  ['x-loc-state', 'NSW', 'NSW'],
  ['x-loc-state-name', 'New South Wales', 'New South Wales'],
]

export const BAD_LOCATION: readonly (readonly [string, string, RegExp])[] = [
  ['x-loc-city', '', /empty/],
  ['x-loc-country', 'DEU', /2 to 2|two-letter/],
  ['x-loc-country', 'D', /2 to 2|two-letter/],
  ['x-loc-country', '49', /two-letter/],
  ['x-loc-country', 'ZZ', /two-letter/],
  ['x-loc-country', 'UK', /two-letter/],
  ['x-loc-lat', '-90.01', /-90 to 90/],
  ['x-loc-lat', '90.01', /-90 to 90/],
  ['x-loc-lat', 'north', /-90 to 90/],
  ['x-loc-lat', '', /empty/],
  ['x-loc-long', '-180.5', /-180 to 180/],
  ['x-loc-long', '180.5', /-180 to 180/],
  ['x-loc-postal-code', '', /empty/],
  ['x-loc-state', 'NSWX', /1 to 3/],
  ['x-loc-state', 'N W', /subdivision code/],
  ['x-loc-state', '', /empty/],
  ['x-loc-state-name', '', /empty/],
]
