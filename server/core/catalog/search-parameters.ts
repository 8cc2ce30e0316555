import type { ParameterTable } from './parameters'

/** The values of `country` (spec 4.4). `ALL` means worldwide. */
const COUNTRIES =
  'AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US ALL'.split(
    ' ',
  )

/** The values of `search_lang` (spec 4.5). `ja` and `jp` both mean Japanese. */
export const SEARCH_LANGUAGES =
  'ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it ja jp kn ko lv lt ms ml mr nb pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi'.split(
    ' ',
  )

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
