import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../server/adapters/websearch/local/open-local-websearch'
import { countTokens } from '../../../../server/adapters/websearch/passages/token-count'
import type { LlmContextInput } from '../../../../server/core/catalog/llm-context'
import { bodyOf, type ContextBody } from './bodies'
import {
  ADULT_DOCUMENTS,
  BASE_URL,
  contextInput,
  NOW,
  pagesAbout,
  temporaryFolder,
  writeFixtureProject,
} from './fixture-index'

const folder = temporaryFolder()
let search: LocalWebsearch

beforeAll(async () => {
  const indexPath = join(folder.path, 'search.db')
  const extraDocuments = [...ADULT_DOCUMENTS, ...pagesAbout('quartz', 30, 12), ...pagesAbout('granite', 3, 500)]
  await buildIndex({ indexPath, ...writeFixtureProject(join(folder.path, 'project')), extraDocuments })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
})
afterAll(async () => {
  await search.close()
  folder.remove()
})

function ask(q: string, more: Partial<LlmContextInput> = {}): Promise<ContextBody> {
  return bodyOf<ContextBody>(search.context, contextInput(q, more))
}
const urls = (body: ContextBody): string[] => body.grounding.generic.map((page) => page.url)
const snippets = (body: ContextBody): string[] => body.grounding.generic.flatMap((page) => page.snippets)
const tokens = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + countTokens(text), 0)

describe('the body', () => {
  test('has exactly Brave’s layout', async () => {
    const body = await ask('scroll chuck jaws')
    const [url] = urls(body)
    expect(Object.keys(body)).toEqual(['query', 'grounding', 'sources'])
    expect(body.query).toEqual({ original: 'scroll chuck jaws' })
    expect(body.grounding).toEqual({ generic: expect.any(Array), poi: null, map: [] })
    expect(Object.keys(body.grounding.generic[0]!)).toEqual(['url', 'title', 'snippets'])
    expect(Object.keys(body.sources[url!]!)).toEqual(['title', 'hostname', 'age'])
  })

  test('has one source for each page of the grounding, and no other', async () => {
    const body = await ask('quartz')
    expect(Object.keys(body.sources)).toEqual(urls(body))
  })

  test('is an empty success when nothing matches', async () => {
    const body = await ask('zyzzyva blorptik')
    expect(body.grounding.generic).toEqual([])
    expect(body.sources).toEqual({})
  })

  test('gives the age of a dated page in four formats', async () => {
    const body = await ask('scroll chuck jaws')
    expect(body.sources[urls(body)[0]!]!.age).toEqual([
      'Tuesday, March 10, 2026',
      '2026-03-10',
      '10 days ago',
      '2026-03-10T00:00:00.000Z',
    ])
  })

  test('gives no age for a page without a date', async () => {
    expect((await ask('chisels')).sources['https://www.npmjs.com/package/lathe-kit#readme']!.age).toEqual([])
  })
})

describe('enable_source_metadata', () => {
  test('adds site name, favicon, thumbnail, description and time of fetching', async () => {
    const body = await ask('scroll chuck jaws', { enable_source_metadata: true })
    expect(body.sources['https://lathe.example/#readme']).toMatchObject({
      hostname: 'lathe.example',
      site_name: 'lathe',
      favicon: 'https://lathe.example/favicon.ico',
      thumbnail: { src: 'https://lathe.example/lathe.png', original: 'https://lathe.example/lathe.png' },
      description: 'Turns wood in rounds',
    })
    const fetchedAt = body.sources['https://lathe.example/#readme']!.fetched_content_timestamp
    expect(Number.isInteger(fetchedAt)).toBe(true)
    expect(Math.abs(Number(fetchedAt) - Date.now() / 1000)).toBeLessThan(60)
  })

  test('gives a page without a picture one of this gateway, under the current base address', async () => {
    const body = await ask('quartz', { enable_source_metadata: true, count: 1 })
    const file = `${BASE_URL}/media/lucide/file-text.svg`
    expect(body.sources[urls(body)[0]!]!.thumbnail).toEqual({ src: file, original: file })
  })
})

describe('matching', () => {
  test('a word is found by its stem and without its accents', async () => {
    expect(urls(await ask('tightening bowl'))[0]).toBe('https://lathe.example/#readme')
    expect(urls(await ask('wálnut'))[0]).toBe('https://lathe.example/#readme')
  })

  test('pages with every word come before pages with some', async () => {
    const found = urls(await ask('nightclub architecture', { safesearch: 'off' }))
    expect(found[0]).toBe('https://plain.example/nightclub')
    expect(found).toContain('https://adult.example/nightclub')
  })

  test('a document with hundreds of passages leaves room for others', async () => {
    const body = await ask('granite', { maximum_number_of_tokens: 32768, maximum_number_of_snippets_per_url: 100 })
    expect(urls(body)).toHaveLength(3)
  })

  test('stop words are not needed for a match', async () => {
    expect(urls(await ask('how do I oil the walnut?'))).toEqual(['https://lathe.example/#readme'])
  })

  test('a page is found by the parts of a camelCase name', async () => {
    const body = await ask('spindle')
    expect(urls(body)).toEqual(['https://unpkg.com/lathe@1.2.0/docs/speed.md'])
    expect(body.grounding.generic[0]!.snippets[0]).toContain('setSpindleSpeed(900)')
  })

  test('a README is found by the keywords of its package', async () => {
    expect(urls(await ask('woodturning'))).toEqual(['https://lathe.example/#readme'])
  })

  test('a passage has its headings, and its code uncut', async () => {
    const [snippet] = snippets(await ask('scroll chuck jaws'))
    expect(snippet).toStartWith('lathe')
    expect(snippet).toContain("```ts\nimport { chuck } from 'lathe'\nchuck.tighten()\n```")
  })

  test('the sources of a documentation site point to the site', async () => {
    const body = await ask('goggles')
    expect(body.grounding.generic).toMatchObject([
      { url: 'https://lathe.example/docs/safety', title: 'Safety first | lathe.example' },
    ])
  })

  test("the project's own pages are found", async () => {
    expect(urls(await ask('marzipan'))).toEqual(['https://fixture-project.invalid/README.md'])
    expect(urls(await ask('carillon'))).toEqual(['https://fixture-project.invalid/docs/deep/bells.md'])
  })
})

describe('budgets', () => {
  test('maximum_number_of_tokens limits titles and snippets together, and is almost used up', async () => {
    for (const most of [1024, 3000, 8192, 32768]) {
      const body = await ask('quartz', { maximum_number_of_tokens: most, maximum_number_of_snippets: 256 })
      const used = tokens(snippets(body)) + tokens(body.grounding.generic.map((page) => page.title))
      expect(used).toBeLessThanOrEqual(most)
      expect(used).toBeGreaterThan(Math.min(most, 20_000) - 400)
    }
  })

  test('maximum_number_of_tokens_per_url limits each page, and its minimum still gives a snippet', async () => {
    for (const most of [512, 1100]) {
      const body = await ask('quartz', { count: 2, maximum_number_of_tokens_per_url: most })
      expect(body.grounding.generic).toHaveLength(2)
      for (const page of body.grounding.generic) {
        expect(tokens([page.title, ...page.snippets])).toBeLessThanOrEqual(most)
        expect(tokens([page.title, ...page.snippets])).toBeGreaterThan(most - 400)
      }
    }
  })
})
