import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ImageSearchInput } from '../../../../server/core/catalog/image-search'
import type { UpstreamFailure } from '../../../../server/core/providers/provider'
import { cutDouble } from '../../../support/doubles/http-double'
import { DUCKDUCKGO, type EngineResult, PICTURES, searxngBody } from '../../../support/doubles/searxng-server'
import { SOMEBODY } from '../../../support/somebody'
import { imageInput } from '../local/fixture-index'
import { NOW, SearxngBench } from './searxng-bench'

interface Body {
  readonly query: Record<string, unknown>
  readonly results: readonly Record<string, Record<string, unknown> & string>[]
  readonly extra: unknown
}

const bench = new SearxngBench()
let plug: ReturnType<SearxngBench['open']>
const never = new AbortController().signal

beforeAll(() => {
  plug = bench.open()
})
beforeEach(() => bench.reset())
afterEach(() => expect(bench.web.received).toEqual([]))
afterAll(async () => {
  await plug.close()
  await bench.stop()
})

const picture = (n: number, more: Partial<EngineResult> = {}): EngineResult => ({
  url: `https://www.photos.example/albums/${n}`,
  title: `Picture ${n}`,
  img_src: `https://cdn.photos.example/${n}.jpg`,
  thumbnail_src: `https://cdn.photos.example/${n}-small.jpg`,
  resolution: '1920x1080',
  ...more,
})
async function ask(more: Partial<ImageSearchInput> = {}, q = 'mountain', provider = plug): Promise<Body> {
  const answer = await provider.images.call(imageInput(q, more), never, SOMEBODY)
  if (!answer.ok) throw new Error(answer.error.reason)
  return JSON.parse(String(answer.value.body))
}
async function failure(provider = plug, signal = never): Promise<UpstreamFailure> {
  const answer = await provider.images.call(imageInput('mountain'), signal, SOMEBODY)
  if (answer.ok) throw new Error('it answered')
  return answer.error
}
const sent = () => Object.fromEntries(bench.searxng.last.query)

describe('the query', () => {
  beforeEach(() => {
    bench.found = { results: [picture(1)] }
  })

  test('is sent the way SearXNG expects', async () => {
    await ask()
    expect(bench.searxng.last).toMatchObject({ method: 'GET', path: '/search' })
    expect(sent()).toMatchObject({
      q: 'mountain',
      format: 'json',
      categories: 'images',
      language: 'en-US',
      safesearch: '2',
    })
    expect(sent()).not.toHaveProperty('time_range')
  })

  test('country, search_lang and safesearch change it', async () => {
    await ask({ country: 'ALL', search_lang: 'pt-br', safesearch: 'off' })
    expect(sent()).toMatchObject({ language: 'pt-BR', safesearch: '0' })
  })

  test('strict uses the engines that the operator trusts with it; off does not', async () => {
    const trusting = bench.open({ strictEngines: ['bing images', 'qwant images'] })
    await ask({}, 'a', trusting)
    expect(sent()['engines']).toBe('bing images,qwant images')
    await ask({ safesearch: 'off' }, 'a', trusting)
    expect(sent()).not.toHaveProperty('engines')
    await trusting.close()
  })

  test('smuggles in no command', async () => {
    const body = await ask({}, '!!wiki :fr <9 !images mountain')
    expect(sent()['q']).toBe('wiki fr 9 images mountain')
    expect(body.query['original']).toBe('!!wiki :fr <9 !images mountain')
  })

  test('that consists only of commands is an invalid q, and SearXNG is not called', async () => {
    const answer = await plug.images.call(imageInput('!! :'), never, SOMEBODY)
    expect(answer).toMatchObject({ ok: false, error: { kind: 'invalid_input', input: { param: 'q' } } })
    expect(bench.searxng.received).toEqual([])
  })
})

describe('the answer', () => {
  test('has exactly the fields that SearXNG can fill', async () => {
    bench.found = { results: [picture(1)] }
    const body = await ask()
    expect(Object.keys(body)).toEqual(['type', 'query', 'results', 'extra'])
    expect(body.query).toEqual({ original: 'mountain', show_strict_warning: false })
    expect(body.extra).toEqual({ might_be_offensive: false })
    expect(body.results).toEqual([
      {
        type: 'image_result',
        title: 'Picture 1',
        url: 'https://www.photos.example/albums/1',
        source: 'www.photos.example',
        page_fetched: new Date(NOW).toISOString().replace('.000', ''),
        thumbnail: { src: 'https://cdn.photos.example/1-small.jpg' },
        properties: {
          url: 'https://cdn.photos.example/1.jpg',
          placeholder: 'https://cdn.photos.example/1-small.jpg',
          width: 1920,
          height: 1080,
        },
        meta_url: {
          scheme: 'https',
          netloc: 'www.photos.example',
          hostname: 'www.photos.example',
          path: '› albums › 1',
        },
        confidence: 'high',
      },
    ] as never)
  })

  test.each([
    ['1920x1080', 1920, 1080],
    ['1920 x 1080', 1920, 1080],
    ['1920 × 1080', 1920, 1080],
    ['1920*1080 px', 1920, 1080],
    ['NonexNone', undefined, undefined],
    ['?x?', undefined, undefined],
    ['0x0', undefined, undefined],
    ['large', undefined, undefined],
    ['', undefined, undefined],
  ])('a resolution of %p is %p by %p', async (resolution, width, height) => {
    bench.found = { results: [picture(1, { resolution })] }
    const [result] = (await ask()).results
    expect([result?.['properties']?.['width'], result?.['properties']?.['height']]).toEqual([width, height] as never)
  })

  test('a picture without an address, or with one that browsers cannot open, is left out; // becomes https', async () => {
    const odd = ['', 'data:image/png;base64,AA', '/relative.jpg', 'javascript:alert(1)', '//cdn.example/5.jpg']
    bench.found = { results: odd.map((img_src, n) => picture(n, { img_src })) }
    const { results } = await ask()
    expect(results.map((result) => result['properties']?.['url'] as string)).toEqual(['https://cdn.example/5.jpg'])
  })

  test('the preview is the engine’s, or the picture', async () => {
    const none = { thumbnail_src: '' }
    bench.found = { results: [picture(1, { ...none, thumbnail: 'https://t.example/1.jpg' }), picture(2, none)] }
    const { results } = await ask()
    expect(results.map((result) => result['thumbnail']?.['src'] as string)).toEqual([
      'https://t.example/1.jpg',
      'https://cdn.photos.example/2.jpg',
    ])
  })

  test('warns about offensive images if nothing is filtered, and says if no correction was wanted', async () => {
    bench.found = { results: [picture(1)] }
    const body = await ask({ safesearch: 'off', spellcheck: false })
    expect(body.extra).toEqual({ might_be_offensive: true })
    expect(body.query['spellcheck_off']).toBe(true)
  })

  test('confidence decreases with the rank', async () => {
    bench.found = { results: Array.from({ length: 6 }, (_, n) => picture(n)) }
    const { results } = await ask()
    expect(results.map((result) => String(result['confidence']))).toEqual([
      'high',
      'high',
      'medium',
      'medium',
      'low',
      'low',
    ])
  })
})

describe('count', () => {
  const endless = () => {
    bench.searxng.instead = ({ query }) => {
      const page = Number(query.get('pageno'))
      const results = Array.from({ length: 30 }, (_, n) => picture(page * 100 + n))
      return Response.json(searxngBody('q', 'images', { results }))
    }
  }

  test('limits the results, and reads one page if that is enough', async () => {
    endless()
    expect((await ask({ count: 5 })).results).toHaveLength(5)
    expect(bench.searxng.received).toHaveLength(1)
  })

  test('reads pages until there are enough, each picture once', async () => {
    endless()
    expect((await ask({ count: 70 })).results).toHaveLength(70)
    expect(bench.searxng.received.map(({ query }) => query.get('pageno'))).toEqual(['1', '2', '3'])
  })

  test('ends at five pages, or when a page brings nothing new', async () => {
    endless()
    expect((await ask({ count: 200 })).results).toHaveLength(150)
    expect(bench.searxng.received).toHaveLength(5)
    bench.searxng.reset()
    bench.found = { results: [picture(1), picture(2), picture(1)] }
    expect((await ask({ count: 200 })).results).toHaveLength(2)
    expect(bench.searxng.received).toHaveLength(2)
  })

  test('a later page that fails leaves the results so far', async () => {
    bench.searxng.instead = ({ query }) =>
      query.get('pageno') === '1'
        ? Response.json(searxngBody('q', 'images', { results: [picture(1)] }))
        : new Response('', { status: 500 })
    expect((await ask()).results).toHaveLength(1)
  })
})

describe('spell check', () => {
  beforeEach(() => {
    bench.searxng.instead = ({ query }) => {
      const isRight = query.get('q') === 'mountain lake'
      const found = isRight
        ? { results: [picture(9)] }
        : { results: [picture(1)], corrections: ['montane lark', 'mountain lake'] }
      return Response.json(searxngBody('', 'images', found))
    }
  })

  test('the nearest correction is searched and reported', async () => {
    const body = await ask({}, 'mountan lake')
    expect(body.query).toMatchObject({ original: 'mountan lake', altered: 'mountain lake' })
    expect(body.results.map(({ title }) => String(title))).toEqual(['Picture 9'])
  })

  test('when off, the words are searched unchanged', async () => {
    const body = await ask({ spellcheck: false }, 'mountan lake')
    expect(body.query).not.toHaveProperty('altered')
    expect(body.results.map(({ title }) => String(title))).toEqual(['Picture 1'])
  })

  test('a correction is not a command either', async () => {
    bench.searxng.instead = ({ query }) =>
      Response.json(
        searxngBody('', 'images', { results: [picture(1)], corrections: query.get('q') === 'x y' ? [] : ['!x :y'] }),
      )
    expect((await ask({}, 'x z')).query['altered']).toBe('x y')
  })
})

describe('failures', () => {
  test.each<[number, UpstreamFailure['kind']]>([
    [400, 'error'],
    [401, 'unavailable'],
    [403, 'unavailable'],
    [404, 'unavailable'],
    [429, 'rate_limited'],
    [500, 'error'],
    [502, 'error'],
    [503, 'unavailable'],
    [504, 'timeout'],
    [302, 'error'],
  ])('%d is %s', async (status, kind) => {
    bench.searxng.instead = () => new Response('{"error":"x"}', { status, headers: { location: bench.web.url } })
    expect(await failure()).toMatchObject({ kind })
  })

  test('JSON that is not enabled is a 403, and the log says what to do', async () => {
    bench.searxng.instead = () => new Response('<!doctype html>', { status: 403 })
    expect((await failure()).reason).toContain('search.formats')
  })

  test('429 passes on its Retry-After', async () => {
    bench.searxng.instead = () => new Response('', { status: 429, headers: { 'retry-after': '60' } })
    expect(await failure()).toMatchObject({ retryAfterSeconds: 60 })
  })

  test('a 200 whose engines all failed is a failure', async () => {
    bench.found = {
      results: [],
      unresponsive: [
        ['google', 'CAPTCHA'],
        ['bing', 'timeout'],
      ],
    }
    expect(await failure()).toMatchObject({ kind: 'error', reason: expect.stringContaining('google: CAPTCHA') })
  })

  test('a 200 of engines that found nothing is a success without results', async () => {
    expect((await ask()).results).toEqual([])
  })

  test('no engine that searches pictures is an error, not an empty answer that costs money; the source stays ready', async () => {
    const fresh = bench.open()
    for (const engines of [[DUCKDUCKGO], [{ ...PICTURES, enabled: false }]]) {
      bench.engines = engines
      bench.now += 3_600_000
      expect(await failure(fresh)).toMatchObject({ kind: 'error', isAboutRequest: true })
    }
    expect(await fresh.images.ready()).toBe(true)
    bench.engines = null
    bench.now += 3_600_000
    expect((await ask({}, 'mountain', fresh)).results).toEqual([])
    bench.reset()
    await fresh.close()
  })

  test('failure of some engines is not a failure', async () => {
    bench.found = { results: [picture(1)], unresponsive: [['google', 'CAPTCHA']] }
    expect((await ask()).results).toHaveLength(1)
  })

  test.each(['<html>', '{"results":', '[]', 'null', '{"results":{}}', ''])(
    'a 200 with %p is an error',
    async (body) => {
      bench.searxng.instead = () => new Response(body)
      expect(await failure()).toMatchObject({ kind: 'error' })
    },
  )

  test('an answer that is too large, cut, or slow', async () => {
    bench.searxng.instead = () => new Response(`{"results":["${'x'.repeat(9 * 1024 * 1024)}"]}`)
    expect(await failure()).toMatchObject({ kind: 'error', reason: expect.stringContaining('too_large') })
    const cut = cutDouble('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"results":[')
    const half = bench.open({ searxngUrl: cut.url })
    expect(await failure(half)).toMatchObject({ kind: 'error' })
    cut.stop()
    bench.searxng.instead = () => new Promise(() => undefined)
    expect(await failure(plug, AbortSignal.timeout(30))).toMatchObject({ kind: 'timeout' })
    const hasty = bench.open({ budgetMs: 40 })
    expect(await failure(hasty)).toMatchObject({ kind: 'timeout' })
    await Promise.all([half.close(), hasty.close()])
  })
})

test('readiness checks its health, and remembers a failure for half a minute', async () => {
  expect(await plug.images.ready()).toBe(false)
  bench.now += 30_000
  expect(await plug.images.ready()).toBe(true)
  expect(bench.searxng.last.path).toBe('/healthz')
  bench.searxng.instead = () => new Response('', { status: 500 })
  bench.now += 4_999
  expect(await plug.images.ready()).toBe(true)
  expect(bench.searxng.received).toHaveLength(1)
  bench.now += 1
  expect(await plug.images.ready()).toBe(false)
})
