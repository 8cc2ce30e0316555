import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import type { IndexDocument, IndexImage } from '../../../../server/adapters/websearch/local/build/index-document'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../server/adapters/websearch/local/open-local-websearch'
import type { ImageSearchInput } from '../../../../server/core/catalog/image-search'
import type { LlmContextInput } from '../../../../server/core/catalog/llm-context'
import { bodyOf, type ContextBody, type ImageBody } from './bodies'
import { BASE_URL, contextInput, imageInput, NOW, temporaryFolder, writeFixtureProject } from './fixture-index'

/** What parameters of spec 4.1 and 4.2 change in an answer, beyond what the contract of all providers shows (tests/contracts). */

const page = (name: string, markdown: string, more: Partial<IndexDocument> = {}): IndexDocument => ({
  url: `https://pages.example/${name}`,
  title: name,
  markdown,
  ...more,
})
const image = (name: string, more: Partial<IndexImage> = {}): IndexImage => ({
  pageUrl: `https://pictures.example/${name}`,
  title: name,
  imageUrl: `https://pictures.example/${name}.jpg`,
  tags: ['waterfall'],
  width: null,
  height: null,
  ...more,
})
const filler = 'Something else stands here and says nothing of interest to anybody. '.repeat(4)

const DOCUMENTS: readonly IndexDocument[] = [
  page('news-old', 'The harvest report of an old year.', { published: '2024-01-10' }),
  page('news-undated', 'The harvest report that has no date.'),
  page('news-2026-03-01', 'A harvest report.', { published: '2026-03-01T23:59:59.000Z' }),
  page('news-2026-03-02', 'A harvest report.', { published: '2026-03-02' }),
  page('brazil', 'Tapioca com queijo.', { lang: 'pt-br' }),
  page('portugal', 'Tapioca com queijo.', { lang: 'pt-pt' }),
  page('tokyo', '東京駅の近くにある図書館は毎日九時に開きます。', { lang: 'ja' }),
  page('osaka', '大阪城の公園には桜の木がたくさんあります。', { lang: 'ja' }),
  page('thai', 'ห้องสมุดเปิดทุกวันเวลาเก้าโมงเช้า', { lang: 'th' }),
  page('zebra-all', '# Zebra migration corridor\n\nThe zebra migration corridor crosses the river.'),
  page('zebra-two', `Zebra migration. ${filler}`),
  page('zebra-one', `A zebra. ${filler}`),
  ...Array.from({ length: 5 }, (_, at) => page(`carburettor-${at}`, `The carburettor of engine ${at} is cleaned.`)),
  page('mitte', 'Espresso and cake. Open daily.', {
    title: 'Cafe Mitte',
    place: { name: 'Cafe Mitte', latitude: 52.52, longitude: 13.405, city: 'Berlin', country: 'DE', state: 'BE' },
  }),
  page('potsdam', 'Espresso by the palace.', {
    place: { name: 'Cafe Potsdam', latitude: 52.4, longitude: 13.06, city: 'Potsdam', country: 'DE', state: 'BB' },
  }),
  page('munich', 'Espresso and beer.', {
    place: { name: 'Cafe München', latitude: 48.137, longitude: 11.575, city: 'München', country: 'DE' },
  }),
  page('berlin-nh', 'Espresso in the woods.', {
    place: {
      name: 'Cafe Berlin NH',
      latitude: 44.468,
      longitude: -71.185,
      city: 'Berlin',
      country: 'US',
      state: 'NH',
      postalCode: '03570',
    },
  }),
  page('bar', 'Espresso martini after dark.', {
    adult: 1,
    place: { name: 'Bar', latitude: 52.521, longitude: 13.406, city: 'Berlin', country: 'DE' },
  }),
  page('espresso', 'Espresso is coffee brewed under pressure.'),
]
const IMAGES: readonly IndexImage[] = [
  image('waterfall-fr', { country: 'FR', lang: 'fr' }),
  image('waterfall-jp', { country: 'JP', lang: 'ja' }),
  image('waterfall-themes', { adult: 1 }),
]

const folder = temporaryFolder()
let search: LocalWebsearch

beforeAll(async () => {
  const indexPath = join(folder.path, 'search.db')
  const sources = writeFixtureProject(join(folder.path, 'project'))
  await buildIndex({ indexPath, ...sources, extraDocuments: DOCUMENTS, extraImages: IMAGES })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
})
afterAll(async () => {
  await search.close()
  folder.remove()
})

const ask = (q: string, more: Partial<LlmContextInput> = {}) =>
  bodyOf<ContextBody>(search.context, contextInput(q, more))
const see = (q: string, more: Partial<ImageSearchInput> = {}) => bodyOf<ImageBody>(search.images, imageInput(q, more))
const name = ({ url }: { readonly url: string }) => url.slice('https://pages.example/'.length)
const names = (body: ContextBody) => body.grounding.generic.map(name)
const titles = (body: ImageBody) => body.results.map(({ title }) => title)

describe('spellcheck', () => {
  test('searches the corrected words and returns them as altered', async () => {
    const body = await ask('carburetor engnie')
    expect(body.query).toEqual({ original: 'carburetor engnie', altered: 'carburettor engine' })
    expect(names(body)).toHaveLength(5)
  })

  test('when off, searches the words unchanged and says so', async () => {
    const body = await ask('carburetor', { spellcheck: false })
    expect(body.query).toEqual({ original: 'carburetor', spellcheck_off: true })
    expect(names(body)).toEqual([])
  })

  test('preserves the rest of the query: case, punctuation, correct words', async () => {
    const body = await ask('The Carburetor, cleaned?!')
    expect(body.query).toEqual({ original: 'The Carburetor, cleaned?!', altered: 'The Carburettor, cleaned?!' })
  })

  test('omits altered if nothing was corrected', async () => {
    expect((await ask('carburettor')).query).toEqual({ original: 'carburettor' })
    expect((await ask('zz qqqqqqqqqqq 12345')).query).toEqual({ original: 'zz qqqqqqqqqqq 12345' })
  })

  test('swapped letters are one mistake, and no correct word is turned into another', async () => {
    expect((await ask('carburettro')).query).toMatchObject({ altered: 'carburettor' })
    expect((await ask('cleans the engine')).query).toEqual({ original: 'cleans the engine' })
  })

  test('of images uses the vocabulary of images', async () => {
    const body = await see('waterfal')
    expect(body.query).toMatchObject({ original: 'waterfal', altered: 'waterfall' })
    expect(titles(body).length).toBeGreaterThan(0)
    expect(await see('waterfal', { spellcheck: false })).toMatchObject({ query: { spellcheck_off: true }, results: [] })
  })
})

describe('freshness', () => {
  test('a range includes both of its days entirely', async () => {
    const within = async (freshness: string) => names(await ask('harvest report', { freshness })).sort()
    expect(await within('2026-03-01to2026-03-02')).toEqual(['news-2026-03-01', 'news-2026-03-02'])
    expect(await within('2026-03-01to2026-03-01')).toEqual(['news-2026-03-01'])
    expect(await within('2026-03-02to2026-03-02')).toEqual(['news-2026-03-02'])
  })

  test('if absent, returns pages of every age and those without a date', async () => {
    expect(names(await ask('harvest report'))).toEqual(
      expect.arrayContaining(['news-old', 'news-undated', 'news-2026-03-01']),
    )
  })
})

describe('context_threshold_mode', () => {
  test('each mode requires more of a passage than the one before', async () => {
    const kept = async (mode?: 'disabled' | 'lenient' | 'balanced' | 'strict') =>
      names(await ask('zebra migration corridor', mode ? { context_threshold_mode: mode } : {})).sort()
    expect(await kept('disabled')).toEqual(['zebra-all', 'zebra-one', 'zebra-two'])
    expect(await kept()).toEqual(await kept('disabled'))
    expect(await kept('balanced')).toEqual(['zebra-all', 'zebra-two'])
    expect(await kept('strict')).toEqual(['zebra-all'])
  })
})

describe('api-version', () => {
  test('2026-02-06 gives ages in three formats, none as null, and uses balanced as its threshold', async () => {
    const first = { 'api-version': '2026-02-06' } as const
    const { sources } = await ask('harvest report', first)
    expect(sources['https://pages.example/news-2026-03-02']!.age).toEqual([
      'Monday, March 2, 2026',
      '2026-03-02',
      '18 days ago',
    ])
    expect(sources['https://pages.example/news-undated']!.age).toBeNull()
    expect(names(await ask('zebra migration corridor', first)).sort()).toEqual(['zebra-all', 'zebra-two'])
  })
})

describe('search_lang and country', () => {
  test('a variant of the language precedes the other variant', async () => {
    expect(names(await ask('tapioca queijo', { search_lang: 'pt-br' }))).toEqual(['brazil', 'portugal'])
    expect(names(await ask('tapioca queijo', { search_lang: 'pt-pt' }))).toEqual(['portugal', 'brazil'])
  })

  test('languages without spaces between words are searched by their words', async () => {
    expect(names(await ask('図書館', { search_lang: 'ja' }))).toEqual(['tokyo'])
    expect(names(await ask('公園の桜', { search_lang: 'jp' }))[0]).toBe('osaka')
    expect(names(await ask('ห้องสมุด', { search_lang: 'th' }))).toEqual(['thai'])
  })
})

describe('safesearch', () => {
  test('strict hides images of adult topics and says so', async () => {
    const strict = await see('waterfall')
    expect([titles(strict).length, strict.query.show_strict_warning]).toEqual([2, true])
    const off = await see('waterfall', { safesearch: 'off' })
    expect([titles(off).length, off.query.show_strict_warning, off.extra.might_be_offensive]).toEqual([3, false, true])
  })
})

describe('local recall', () => {
  const berlin = { 'x-loc-lat': 52.519, 'x-loc-long': 13.404 }
  const places = ({ grounding }: ContextBody) =>
    [grounding.poi, ...grounding.map].flatMap((place) => (place ? [name(place)] : []))

  test('by a point: the nearest is poi, others in reach are map, and none of them is also generic', async () => {
    const body = await ask('espresso', berlin)
    expect(body.grounding.poi).toEqual({
      name: 'Cafe Mitte',
      url: 'https://pages.example/mitte',
      title: 'Cafe Mitte',
      snippets: ['Espresso and cake. Open daily.'],
    })
    expect(places(body)).toEqual(['mitte', 'potsdam'])
    expect(names(body)).toContain('espresso')
    expect(names(body)).not.toContain('mitte')
    expect(Object.keys(body.sources)).toEqual(
      expect.arrayContaining(['https://pages.example/mitte', 'https://pages.example/potsdam']),
    )
  })

  test('a point takes precedence over names', async () => {
    expect(places(await ask('espresso', { ...berlin, 'x-loc-city': 'München' }))).toEqual(['mitte', 'potsdam'])
  })

  test('by the name of a city, whatever its case and accents, distinguished by state and country', async () => {
    expect(places(await ask('espresso', { 'x-loc-city': 'munchen' }))).toEqual(['munich'])
    expect(places(await ask('espresso', { 'x-loc-city': 'BERLIN' })).sort()).toEqual(['berlin-nh', 'mitte'])
    expect(places(await ask('espresso', { 'x-loc-city': 'Berlin', 'x-loc-country': 'us' }))).toEqual(['berlin-nh'])
    expect(places(await ask('espresso', { 'x-loc-city': 'Berlin', 'x-loc-state': 'BE' }))).toEqual(['mitte'])
    expect(places(await ask('espresso', { 'x-loc-city': 'Berlin', 'x-loc-postal-code': '03570' }))[0]).toBe('berlin-nh')
  })

  test('stays strict when safesearch is unset or off', async () => {
    expect(places(await ask('espresso', { ...berlin, safesearch: 'off' }))).not.toContain('bar')
    expect(names(await ask('espresso', berlin))).toContain('bar')
  })

  test('enable_local=false turns it off, and the pages are generic then', async () => {
    const body = await ask('espresso', { ...berlin, enable_local: false })
    expect([body.grounding.poi, body.grounding.map]).toEqual([null, []])
    expect(names(body)).toContain('mitte')
  })

  test('enable_local=true returns places without a location; unset with half a location does not', async () => {
    expect(places(await ask('espresso', { enable_local: true }))).toHaveLength(4)
    expect(places(await ask('espresso', { 'x-loc-lat': 52.5 }))).toEqual([])
    expect(places(await ask('espresso', { 'x-loc-country': 'DE' }))).toEqual([])
    expect(places(await ask('espresso', { enable_local: true, 'x-loc-country': 'US' }))).toEqual(['berlin-nh'])
  })

  test('is empty where nothing is in reach, and needs a word of the query', async () => {
    expect(places(await ask('espresso', { 'x-loc-lat': 0, 'x-loc-long': 0 }))).toEqual([])
    expect(places(await ask('harvest', berlin))).toEqual([])
  })

  test('takes at most half of the requested pages', async () => {
    const body = await ask('espresso', { ...berlin, maximum_number_of_urls: 2 })
    expect([places(body).length, names(body).length]).toEqual([1, 1])
  })
})
