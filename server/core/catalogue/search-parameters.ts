import type { ParameterTable } from './parameters'
import { COUNTRIES, SEARCH_LANGUAGES } from './regions'

/** Where and in which language to search, alike for every search (spec 4.4, 4.5). */
export const REGION = {
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
} as const satisfies ParameterTable

/** Alike for every search (spec 4.1, 4.2). */
export const SPELLCHECK = {
  spellcheck: {
    in: 'query',
    kind: 'boolean',
    default: true,
    description: 'Correct the spelling; the corrected query is always the one searched.',
  },
} as const satisfies ParameterTable
