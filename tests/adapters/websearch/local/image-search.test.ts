import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../../server/adapters/websearch/local/build/build-index'
import { localMedia } from '../../../../server/adapters/websearch/local/media'
import {
  type LocalWebsearch,
  openLocalWebsearch,
} from '../../../../server/adapters/websearch/local/open-local-websearch'
import type { ImageSearchInput } from '../../../../server/core/catalog/image-search'
import { bodyOf, type ImageBody } from './bodies'
import { ADULT_IMAGES, BASE_URL, imageInput, NOW, temporaryFolder, writeFixtureProject } from './fixture-index'

const folder = temporaryFolder()
const project = writeFixtureProject(join(folder.path, 'project'))
const indexPath = join(folder.path, 'search.db')
let search: LocalWebsearch

beforeAll(async () => {
  await buildIndex({ indexPath, ...project, extraImages: ADULT_IMAGES })
  search = openLocalWebsearch({ indexPath, baseUrl: BASE_URL, now: () => NOW })
})
afterAll(async () => {
  await search.close()
  folder.remove()
})

function ask(q: string, more: Partial<ImageSearchInput> = {}): Promise<ImageBody> {
  return bodyOf<ImageBody>(search.images, imageInput(q, more))
}
const titles = (body: ImageBody): string[] => body.results.map((result) => result.title)

describe('the body', () => {
  test('has Brave’s layout', async () => {
    const body: unknown = await ask('credit card', { count: 1 })
    const file = `${BASE_URL}/media/lucide/credit-card.svg`
    expect(body).toEqual({
      type: 'images',
      query: { original: 'credit card', show_strict_warning: false },
      results: [
        {
          type: 'image_result',
          title: 'Credit card icon',
          url: 'https://lucide.dev/icons/credit-card',
          source: 'lucide.dev',
          page_fetched: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/),
          thumbnail: { src: file, width: 24, height: 24 },
          properties: { url: file, placeholder: file, width: 24, height: 24 },
          meta_url: {
            scheme: 'https',
            netloc: 'lucide.dev',
            hostname: 'lucide.dev',
            path: '› icons › credit-card',
            favicon: 'https://lucide.dev/favicon.ico',
          },
          confidence: 'high',
        },
      ],
      extra: { might_be_offensive: false },
    })
  })

  test('is an empty success when nothing matches', async () => {
    expect((await ask('zyzzyva')).results).toEqual([])
  })

  test('has its own files under the current base address, whatever it was at the build', async () => {
    const moved = openLocalWebsearch({ indexPath, baseUrl: 'https://moved.example/', now: () => NOW })
    const body = await bodyOf<ImageBody>(moved.images, imageInput('wallet'))
    await moved.close()
    expect(body.results[0]!.thumbnail).toMatchObject({ src: 'https://moved.example/media/lucide/wallet.svg' })
  })
})

describe('matching', () => {
  test('ranks the title that was searched first, then pictures with all words in tags, then those with some', async () => {
    const body = await ask('credit card')
    expect(titles(body)).toEqual(['Credit card icon', 'Credit card plus icon', 'Wallet icon', 'Card sim icon'])
    expect(body.results.map((result) => result.confidence)).toEqual(['high', 'high', 'medium', 'low'])
  })
})

describe('safesearch', () => {
  test('strict drops adult images and reports that it did', async () => {
    const body = await ask('nightclub')
    expect(titles(body)).toEqual(['Nightclub facade'])
    expect(body.query.show_strict_warning).toBe(true)
    expect(body.extra.might_be_offensive).toBe(false)
  })

  test('strict reports nothing if nothing was hidden', async () => {
    expect((await ask('nightclub facade')).query.show_strict_warning).toBe(false)
  })

  test('off shows adult images and reports that they might be offensive', async () => {
    const body = await ask('nightclub', { safesearch: 'off' })
    expect(titles(body).sort()).toEqual(['Nightclub facade', 'Nightclub revue'])
    expect(body.query.show_strict_warning).toBe(false)
    expect(body.extra.might_be_offensive).toBe(true)
  })
})

describe('media', () => {
  const media = localMedia(join(project.nodeModules, 'lucide-static/icons'))

  test('serves an icon with its type', async () => {
    const file = await media('credit-card.svg')
    expect(file?.contentType).toBe('image/svg+xml')
    expect(new TextDecoder().decode(file?.body)).toStartWith('<svg')
  })

  test.each([
    '../tags.json',
    '..%2ftags.json',
    'a/../credit-card.svg',
    '/etc/passwd',
    'Credit-Card.svg',
    '.svg',
    'none.svg',
    '',
  ])('has nothing at %p', async (name) => {
    expect(await media(name)).toBeNull()
  })
})
