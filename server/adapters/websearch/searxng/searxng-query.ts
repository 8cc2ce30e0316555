import { freshnessWindow, isRange } from '../../../core/catalog/freshness'
import { editDistance } from '../../../core/edit-distance'

/**
 * The words of a question without what SearXNG would take for a command: `!` and `?` pick engines, `!!` redirects elsewhere,
 * `:` sets the language, `<` the timeout. A caller must not get around its own `safesearch` or into
 * engines that the operator did not mean for it. Empty when nothing else was said.
 */
export function searchableWords(q: string): string {
  return q
    .replace(/[\p{Cc}\p{White_Space}]+/gu, ' ')
    .split(' ')
    .map((word) => word.replace(/^(?:[!?:]|<(?=\d))+/, ''))
    .filter((word) => word !== '')
    .join(' ')
}

/** Codes that say a region already, or that SearXNG spells another way. */
const LANGUAGES: Readonly<Record<string, string>> = {
  'zh-hans': 'zh-CN',
  'zh-hant': 'zh-TW',
  jp: 'ja',
  'pt-br': 'pt-BR',
  'pt-pt': 'pt-PT',
  'en-gb': 'en-GB',
}

/** `language` of SearXNG: the language with the country behind it, unless it says its own; `ALL` is the language alone. */
export function searxngLanguage(searchLang: string, country: string): string {
  const language = LANGUAGES[searchLang] ?? searchLang
  return language.includes('-') || country === 'ALL' ? language : `${language}-${country}`
}

const SAFESEARCH = { off: '0', moderate: '1', strict: '2' } as const

export function searxngSafesearch(safesearch: 'off' | 'moderate' | 'strict' | undefined): string {
  return SAFESEARCH[safesearch ?? 'off']
}

const RANGES: readonly (readonly [string, string])[] = [
  ['pd', 'day'],
  ['pw', 'week'],
  ['pm', 'month'],
  ['py', 'year'],
]

/** `time_range` of SearXNG: the smallest that holds the whole window; null when none does, or nothing was asked. */
export function searxngTimeRange(freshness: string | undefined, nowMs: number): string | null {
  if (freshness === undefined) return null
  if (!isRange(freshness)) return RANGES.find(([word]) => word === freshness)?.[1] ?? null
  const { from } = freshnessWindow(freshness, nowMs)
  return RANGES.find(([word]) => freshnessWindow(word, nowMs).from <= from)?.[1] ?? null
}

/** Of several corrections, which come in no order, the one nearest to what was written. */
export function nearestCorrection(words: string, corrections: readonly string[]): string | null {
  const different = corrections.filter((correction) => correction.trim() !== '' && correction !== words)
  const ranked = different
    .map((text) => ({ text, distance: editDistance(words.toLowerCase(), text.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance || (a.text < b.text ? -1 : 1))
  return ranked[0]?.text ?? null
}
