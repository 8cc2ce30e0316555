import type { ParameterTable } from './parameters'
import { COUNTRIES, SEARCH_LANGUAGES } from './regions'

/** Region and language parameters of every search (spec 4.4, 4.5). */
export const REGION = {
  country: {
    in: 'query',
    kind: 'enum',
    values: COUNTRIES,
    default: 'US',
    anyCase: true,
    description: 'Country that the results should be relevant to. `ALL` means worldwide.',
  },
  search_lang: {
    in: 'query',
    kind: 'enum',
    values: SEARCH_LANGUAGES,
    default: 'en',
    anyCase: true,
    description: 'Language of the results.',
  },
} as const satisfies ParameterTable

/** The spelling parameter of every search (spec 4.1, 4.2). */
export const SPELLCHECK = {
  spellcheck: {
    in: 'query',
    kind: 'boolean',
    default: true,
    description: 'Correct the spelling. If a correction is found, it replaces the query.',
  },
} as const satisfies ParameterTable
