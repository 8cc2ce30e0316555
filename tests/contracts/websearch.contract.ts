import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { countTokens } from '../../server/adapters/websearch/passages/token-count'
import type { ImageSearchInput } from '../../server/core/catalog/image-search'
import type { LlmContextInput } from '../../server/core/catalog/llm-context'
import type { Provider, ProviderAnswer } from '../../server/core/providers/provider'
import { contextInput, imageInput } from '../adapters/websearch/local/fixture-index'
import { SOMEBODY } from '../support/somebody'
import { type ContextRead, type ImagesRead, readContext, readImages } from './original-client'

/** A provider of both data endpoints over the small world (`tests/support/doubles/search-world.ts`). */
export interface OpenedWebsearch {
  readonly images: Provider<ImageSearchInput>
  readonly context: Provider<LlmContextInput>
  close(): Promise<void>
}

/** The limits of a provider's source. Everything else every provider does. */
export interface Limits {
  /** It knows no places: `poi` is null and `map` is empty. */
  readonly noPlaces?: true
  /** Its context answers do not say that a question was corrected. */
  readonly silentCorrection?: true
}

const never = new AbortController().signal

/** Every row of the parameter tables of spec 4.1 and 4.2 by its effect. What goes over the wire is told by each provider's own tests. */
export function websearchContract(name: string, open: () => Promise<OpenedWebsearch>, limits: Limits = {}): void {
  describe(`${name}: websearch contract (spec 2.5, 4.1, 4.2)`, () => {
    let plug: OpenedWebsearch

    beforeAll(async () => {
      plug = await open()
    })
    afterAll(() => plug.close())

    const bodyOf = (answer: Awaited<ReturnType<Provider<never>['call']>>): string => {
      if (!answer.ok) throw new Error(`${answer.error.kind}: ${answer.error.reason}`)
      return textOf(answer.value)
    }
    const context = async (q: string, more: Partial<LlmContextInput> = {}): Promise<ContextRead> =>
      readContext(bodyOf(await plug.context.call(contextInput(q, more), never, SOMEBODY)))
    const images = async (q: string, more: Partial<ImageSearchInput> = {}): Promise<ImagesRead> =>
      readImages(bodyOf(await plug.images.call(imageInput(q, more), never, SOMEBODY)))
    const hosts = async (q: string, more: Partial<LlmContextInput> = {}) => (await context(q, more)).pages.map(hostOf)
    const tokensOf = ({ title, snippets }: ContextRead['pages'][number]) => countTokens([title, ...snippets].join('\n'))

    describe('image search', () => {
      test('q finds pictures, in a form that clients of the original service can read', async () => {
        const { items, query } = await images('quartz')
        expect(items).toHaveLength(12)
        expect(items[0]?.title).toMatch(/^Quartz photo/)
        expect(query).toMatchObject({ original: 'quartz' })
        expect(query.altered ?? null).toBeNull()
      })

      test('count is the maximum', async () => {
        expect((await images('quartz', { count: 5 })).items).toHaveLength(5)
        expect((await images('quartz', { count: 1 })).items).toHaveLength(1)
      })

      test('safesearch strict hides what off shows', async () => {
        expect((await images('opal', { safesearch: 'strict' })).items.map(pathOf)).toEqual(['/clean'])
        expect((await images('opal', { safesearch: 'off' })).items.map(pathOf).sort()).toEqual(['/adult', '/clean'])
      })

      test('spellcheck searches the correction, and reports it', async () => {
        const { items, query } = await images('quarzt')
        expect(items).toHaveLength(12)
        expect(query).toMatchObject({ original: 'quarzt', altered: 'quartz' })
        expect((await images('quarzt', { spellcheck: false })).items).toEqual([])
      })

      test('search_lang and country come first', async () => {
        expect((await images('topaz', { search_lang: 'de' })).items.map(pathOf)[0]).toBe('/de')
        expect((await images('topaz', { search_lang: 'en' })).items.map(pathOf)[0]).toBe('/en')
        expect((await images('garnet', { country: 'FR' })).items.map(pathOf)[0]).toBe('/fr')
        expect((await images('garnet', { country: 'US' })).items.map(pathOf)[0]).toBe('/us')
      })

      test('country ALL and every code of Japanese are accepted', async () => {
        for (const more of [
          { country: 'ALL' },
          { search_lang: 'ja' },
          { search_lang: 'jp' },
          { search_lang: 'zh-hans' },
        ])
          expect((await images('quartz', more)).items).toHaveLength(12)
      })
    })

    describe('LLM context', () => {
      test('q finds pages, in a form that clients of the original service can read', async () => {
        const { pages, query, poi, map } = await context('quartz')
        expect(pages.map(hostOf).sort()).toEqual(Array.from({ length: 8 }, (_, at) => `quartz${at}.test`))
        expect(pages[0]?.title).toMatch(/^Quartz guide/)
        expect(query).toMatchObject({ original: 'quartz' })
        expect(poi).toBeNull()
        expect(map).toEqual([])
      })

      test('count and maximum_number_of_urls limit the pages', async () => {
        expect(await hosts('quartz', { count: 3 })).toHaveLength(3)
        expect(await hosts('quartz', { maximum_number_of_urls: 2 })).toHaveLength(2)
      })

      test('maximum_number_of_snippets limits the total, maximum_number_of_snippets_per_url each page', async () => {
        const all = await context('quartz', { maximum_number_of_snippets: 5 })
        expect(all.pages.flatMap(({ snippets }) => snippets)).toHaveLength(5)
        const each = await context('quartz', { maximum_number_of_snippets_per_url: 1 })
        expect(each.pages.map(({ snippets }) => snippets.length)).toEqual(Array(8).fill(1))
      })

      test('maximum_number_of_tokens and ..._per_url limit the tokens, within 5 %', async () => {
        const total = async (more: Partial<LlmContextInput>) =>
          (await context('quartz', more)).pages.reduce((sum, page) => sum + tokensOf(page), 0)
        const most = await total({ maximum_number_of_tokens: 32768, maximum_number_of_snippets: 256 })
        expect(most).toBeGreaterThan(3_000)
        expect(await total({ maximum_number_of_tokens: 1024 })).toBeLessThanOrEqual(1024 * 1.05)
        for (const page of (await context('quartz', { maximum_number_of_tokens_per_url: 512 })).pages)
          expect(tokensOf(page)).toBeLessThanOrEqual(512 * 1.05)
      })

      test('context_threshold_mode strict leaves out pages with only a part of the query', async () => {
        const q = 'basalt columns'
        expect(await hosts(q, { context_threshold_mode: 'disabled' })).toContain('basalt-weak.test')
        expect(await hosts(q, { context_threshold_mode: 'strict' })).toEqual(['basalt-strong.test'])
      })

      test('search_lang and country come first', async () => {
        expect((await hosts('topaz', { search_lang: 'de' }))[0]).toBe('topaz-de.test')
        expect((await hosts('topaz', { search_lang: 'en' }))[0]).toBe('topaz-en.test')
        expect((await hosts('garnet', { country: 'FR' }))[0]).toBe('garnet-fr.test')
        expect((await hosts('garnet', { country: 'US' }))[0]).toBe('garnet-us.test')
      })

      test.each([
        ['pd', ['day']],
        ['pw', ['day', 'week']],
        ['pm', ['day', 'month', 'week']],
        ['py', ['day', 'month', 'week', 'year']],
        ['2020-07-01to2020-07-01', ['old']],
        ['2025-06-01to2026-02-25', ['month', 'year']],
        ['2021-01-01to2021-12-31', []],
      ])('freshness %s', async (freshness, expected) => {
        expect((await hosts('jade', { freshness })).sort()).toEqual(expected.map((age) => `jade-${age}.test`))
      })

      test('safesearch: strict shows nothing adult, moderate leaves out explicit content, off and unset nothing', async () => {
        expect(await hosts('opal', { safesearch: 'strict' })).toEqual(['opal-clean.test'])
        expect((await hosts('opal', { safesearch: 'moderate' })).sort()).toEqual([
          'opal-clean.test',
          'opal-mature.test',
        ])
        expect(await hosts('opal', { safesearch: 'off' })).toHaveLength(3)
        expect(await hosts('opal')).toHaveLength(3)
      })

      test('spellcheck searches the correction', async () => {
        const { pages, query } = await context('quarzt')
        expect(pages).toHaveLength(8)
        expect(query).toMatchObject({ original: 'quarzt' })
        if (!limits.silentCorrection) expect(query.altered).toBe('quartz')
        expect(await hosts('quarzt', { spellcheck: false })).toEqual([])
      })

      test('goggles: boost, downrank, discard, and all combined', async () => {
        expect((await hosts('quartz', { goggles: ['$boost=10,site=quartz5.test'] }))[0]).toBe('quartz5.test')
        const [first] = await hosts('quartz')
        expect((await hosts('quartz', { goggles: [`$downrank=5,site=${first}`] }))[0]).not.toBe(first)
        expect(await hosts('quartz', { goggles: ['$discard,site=quartz5.test'] })).not.toContain('quartz5.test')
        expect(await hosts('quartz', { goggles: ['$discard', '$site=quartz2.test'] })).toEqual(['quartz2.test'])
      })

      test('enable_source_metadata adds the metadata of the source', async () => {
        const plain = Object.values((await context('topaz')).sources)[0] ?? {}
        expect(Object.keys(plain)).not.toContain('site_name')
        const rich = Object.values((await context('topaz', { enable_source_metadata: true })).sources)[0] ?? {}
        expect(typeof rich['site_name']).toBe('string')
        expect(typeof rich['description']).toBe('string')
        expect(Number.isInteger(rich['fetched_content_timestamp'])).toBe(true)
      })

      test('api-version: ages in four formats, in three in the first; unknown is empty, and null in the first', async () => {
        const ages = async (q: string, version: LlmContextInput['api-version']) =>
          Object.values((await context(q, { 'api-version': version })).sources).map(({ age }) => age as string[] | null)
        expect((await ages('jade', '2026-07-31')).map((age) => age?.length)).toEqual(Array(5).fill(4))
        expect((await ages('jade', '2026-02-06')).map((age) => age?.length)).toEqual(Array(5).fill(3))
        expect(await ages('basalt columns', '2026-07-31')).toContainEqual([])
        expect(await ages('basalt columns', '2026-02-06')).toContainEqual(null)
      })

      test('cache-control and user-agent are accepted', async () => {
        const more = { 'cache-control': 'no-cache', 'user-agent': 'Mozilla/5.0 (iPhone)' }
        expect(await hosts('topaz', more)).toHaveLength(2)
      })

      if (limits.noPlaces)
        test('no location makes a difference: it has no places', async () => {
          const { poi, map } = await context('bakery', { 'x-loc-city': 'Bern', enable_local: true })
          expect([poi, map]).toEqual([null, []])
        })
      else localRecall(context)
    })
  })
}

function localRecall(context: (q: string, more?: Partial<LlmContextInput>) => Promise<ContextRead>): void {
  const places = async (q: string, more: Partial<LlmContextInput>) => {
    const { poi, map } = await context(q, more)
    return [poi, ...map].flatMap((place) => (place ? [hostOf(place)] : []))
  }
  const bern = { 'x-loc-lat': 46.95, 'x-loc-long': 7.45 }

  describe('local recall (spec 4.2)', () => {
    test('x-loc-lat with x-loc-long finds nearby places without further options', async () => {
      expect((await places('bakery', bern))[0]).toBe('bakery-bern.test')
      expect((await places('bakery', { 'x-loc-lat': 47.38, 'x-loc-long': 8.54 }))[0]).toBe('bakery-zurich.test')
      expect(await places('bakery', { 'x-loc-lat': -33.9, 'x-loc-long': 151.2 })).toEqual([])
    })

    test('x-loc-city finds places there without further options', async () => {
      expect(await places('bakery', { 'x-loc-city': 'Zurich' })).toEqual(['bakery-zurich.test'])
    })

    test('x-loc-state and x-loc-country distinguish cities of one name', async () => {
      expect(await places('diner', { 'x-loc-city': 'Springfield', 'x-loc-state': 'OH' })).toEqual(['diner-oh.test'])
      expect(await places('diner', { 'x-loc-city': 'Springfield', 'x-loc-state': 'IL' })).toEqual(['diner-il.test'])
      expect(await places('diner', { 'x-loc-city': 'Springfield', 'x-loc-country': 'CH' })).toEqual([])
    })

    test('half a point, or a country alone, is not a location', async () => {
      expect(await places('bakery', { 'x-loc-lat': 46.95 })).toEqual([])
      expect(await places('bakery', { 'x-loc-country': 'CH' })).toEqual([])
    })

    test('enable_local false turns it off', async () => {
      expect(await places('bakery', { ...bern, enable_local: false })).toEqual([])
    })
  })
}

function textOf({ body }: ProviderAnswer): string {
  return typeof body === 'string' ? body : new TextDecoder().decode(body)
}

const hostOf = ({ url }: { url: string }) => new URL(url).hostname
const pathOf = ({ url }: { url: string }) => new URL(url).pathname
