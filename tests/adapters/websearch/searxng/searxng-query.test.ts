import { describe, expect, test } from 'bun:test'
import {
  nearestCorrection,
  searchableWords,
  searxngLanguage,
  searxngTimeRange,
} from '../../../../server/adapters/websearch/searxng/searxng-query'
import { freshnessWindow } from '../../../../server/core/catalog/freshness'
import { SEARCH_LANGUAGES } from '../../../../server/core/catalog/search-parameters'

const NOW = Date.parse('2026-03-20T12:00:00Z')

describe('no word of a query is a command to SearXNG', () => {
  test.each([
    ['!g cats', 'g cats'],
    ['cats !images', 'cats images'],
    ['!!wiki cats', 'wiki cats'],
    ['cats !!', 'cats'],
    ['?wiki cats', 'wiki cats'],
    [':fr cats', 'fr cats'],
    ['<5 cats', '5 cats'],
    ['<850 cats', '850 cats'],
    ['!:?!g cats', 'g cats'],
    ['cats\t!g', 'cats g'],
    ['cats\n:de', 'cats de'],
    ['cats\u0085!g', 'cats g'],
    ['cats\u001c!g', 'cats g'],
    ['cats\u2003!g', 'cats g'],
    ['cats\u00a0!g', 'cats g'],
    ['!!!', ''],
    [' : ! ? ', ''],
  ])('%p is searched as %p', (q, words) => expect(searchableWords(q)).toBe(words))

  test.each(['a<b', '<div> tag', 'what?', 'C# !', 'key:value', 'a!b', '"exact words" -without', 'site:example.org x'])(
    'what is not a command is unchanged: %p',
    (q) => expect(searchableWords(q)).toBe(q.replace(/ !$/, '')),
  )
})

describe('language and country', () => {
  test.each([
    ['en', 'US', 'en-US'],
    ['en', 'ALL', 'en'],
    ['de', 'CH', 'de-CH'],
    ['zh-hans', 'US', 'zh-CN'],
    ['zh-hant', 'ALL', 'zh-TW'],
    ['jp', 'JP', 'ja-JP'],
    ['ja', 'ALL', 'ja'],
    ['pt-br', 'PT', 'pt-BR'],
    ['pt-pt', 'BR', 'pt-PT'],
    ['en-gb', 'US', 'en-GB'],
  ])('%s in %s is %s', (lang, country, expected) => expect(searxngLanguage(lang, country)).toBe(expected))

  test('SearXNG accepts every code of the catalog', () => {
    for (const lang of SEARCH_LANGUAGES)
      for (const country of ['US', 'ALL']) expect(searxngLanguage(lang, country)).toMatch(/^[a-z]{2,3}(-[a-zA-Z]{2})?$/)
  })
})

describe('freshness', () => {
  test.each([
    [undefined, null],
    ['pd', 'day'],
    ['pw', 'week'],
    ['pm', 'month'],
    ['py', 'year'],
    ['2026-03-20to2026-03-20', 'day'],
    ['2026-03-14to2026-03-15', 'week'],
    ['2026-02-20to2026-02-21', 'month'],
    ['2025-06-01to2025-06-30', 'year'],
    ['2020-01-01to2020-12-31', null],
    ['2020-01-01to2026-03-20', null],
  ])('%p is time_range %p', (freshness, expected) => expect(searxngTimeRange(freshness, NOW)).toBe(expected))

  test('a window is the last days, or a range that includes its last day', () => {
    expect(freshnessWindow('pw', NOW).from).toBe('2026-03-13T12:00:00.000Z')
    expect(freshnessWindow('pw', NOW).before > '2026-03-20T12:00:00.000Z').toBe(true)
    expect(freshnessWindow('2024-02-28to2024-02-29', NOW)).toEqual({
      from: '2024-02-28T00:00:00.000Z',
      before: '2024-03-01T00:00:00.000Z',
    })
  })
})

test('of several corrections the nearest is used, whatever their order', () => {
  expect(nearestCorrection('drizle relation', ['drizzle relations', 'puzzle relation', 'drizzle relation'])).toBe(
    'drizzle relation',
  )
  expect(nearestCorrection('ab', ['ad', 'ac'])).toBe('ac')
  expect(nearestCorrection('ab', ['ab', ' '])).toBeNull()
  expect(nearestCorrection('ab', [])).toBeNull()
})
