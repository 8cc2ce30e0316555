/** Where and in which language to search (spec 4.4, 4.5). */
export interface Region {
  /** A value of `country`; `ALL` means worldwide. */
  readonly country: string
  /** A value of `search_lang`. */
  readonly language: string
}

/** Spellings of `search_lang` that are not language tags. */
const LANGUAGES: Readonly<Record<string, string>> = { jp: 'ja' }

const OTHER_LANGUAGE = 0.4
const OTHER_VARIANT = 0.9
const OWN_COUNTRY = 1.25
const OTHER_COUNTRY = 0.7

/**
 * The factor for a score in a region. Language and country rank, they do not filter: a page in another language or for another
 * country comes after an equally good one in the right one. A page without a language or country is not ranked lower.
 */
export function regionWeight(
  { lang, country }: { readonly lang: string | null; readonly country: string | null },
  region: Region,
): number {
  return languageWeight(lang, LANGUAGES[region.language] ?? region.language) * countryWeight(country, region.country)
}

function languageWeight(lang: string | null, wanted: string): number {
  if (lang === null || lang === wanted) return 1
  if (primary(lang) !== primary(wanted)) return OTHER_LANGUAGE
  return lang.includes('-') && wanted.includes('-') ? OTHER_VARIANT : 1
}

function primary(tag: string): string {
  return tag.split('-')[0] ?? tag
}

function countryWeight(country: string | null, wanted: string): number {
  if (country === null || wanted === 'ALL') return 1
  return country === wanted ? OWN_COUNTRY : OTHER_COUNTRY
}
