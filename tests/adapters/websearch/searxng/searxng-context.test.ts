import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { LlmContextInput } from '../../../../server/core/catalog/llm-context'
import type { UpstreamFailure } from '../../../../server/core/providers/provider'
import { DUCKDUCKGO, type EngineConfig, searxngBody } from '../../../support/doubles/searxng-server'
import { SOMEBODY } from '../../../support/somebody'
import { contextInput } from '../local/fixture-index'
import { SearxngBench } from './searxng-bench'

interface Body {
  readonly query: Record<string, unknown>
  readonly grounding: {
    readonly generic: readonly { readonly url: string; readonly title: string; readonly snippets: readonly string[] }[]
    readonly poi: unknown
    readonly map: unknown
  }
  readonly sources: Record<string, Record<string, unknown>>
}

const bench = new SearxngBench()
let plug: ReturnType<SearxngBench['open']>
const never = new AbortController().signal

beforeAll(() => {
  plug = bench.open()
})
beforeEach(() => bench.reset())
afterAll(async () => {
  await plug.close()
  await bench.stop()
})

const words = (subject: string) => `<p>${`All about ${subject}, said at some length and with care. `.repeat(6)}</p>`
/** A page that is found and can be fetched. */
function page(address: string, body: string, more: object = {}): void {
  bench.pages[address] = bench.html(body, `Title of ${address}`)
  const results = [
    ...bench.found.results,
    { url: bench.at(address), title: `Found ${address}`, content: `Excerpt of quartz`, ...more },
  ]
  bench.found = { ...bench.found, results }
}
async function ask(more: Partial<LlmContextInput> = {}, q = 'quartz', provider = plug): Promise<Body> {
  const answer = await provider.context.call(contextInput(q, more), never, SOMEBODY)
  if (!answer.ok) throw new Error(`${answer.error.kind}: ${answer.error.reason}`)
  return JSON.parse(String(answer.value.body))
}
async function failure(more: Partial<LlmContextInput> = {}, provider = plug, signal = never): Promise<UpstreamFailure> {
  const answer = await provider.context.call(contextInput('quartz', more), signal, SOMEBODY)
  if (answer.ok) throw new Error('it answered')
  return answer.error
}
const paths = (body: Body) => body.grounding.generic.map(({ url }) => url.replace(/^http:\/\/([^:/]+):\d+/, '$1'))
const snippets = (body: Body) => body.grounding.generic.flatMap((one) => one.snippets)
const visited = () =>
  bench.web.received.map(({ headers, path }) => `${(headers.get('host') ?? '').split(':')[0]}${path}`)
const sent = () => Object.fromEntries(bench.searxng.last.query)

describe('an answer', () => {
  test('consists of the pages themselves, in Brave’s layout', async () => {
    page('one.test/a', `<h2>Hardness</h2>${words('quartz')}`)
    const body = await ask()
    const url = bench.at('one.test/a')
    expect(Object.keys(body)).toEqual(['query', 'grounding', 'sources'])
    expect(body.query).toEqual({ original: 'quartz' })
    expect(body.grounding).toMatchObject({ poi: null, map: [] })
    expect(body.grounding.generic[0]).toMatchObject({ url, title: 'Title of one.test/a' })
    expect(snippets(body)[0]).toContain('All about quartz')
    expect(body.sources).toEqual({ [url]: { title: 'Title of one.test/a', hostname: 'one.test', age: [] } })
  })

  test('ranks pages by their content, and leaves out those without a word of the query', async () => {
    page('one.test/a', words('granite'), { content: 'no word of it' })
    page('two.test/b', `<p>${'Quartz in passing, and then much else about the weather of the year. '.repeat(5)}</p>`)
    page('three.test/c', `<h1>Hardness</h1>${words('the hardness of quartz')}`)
    expect(paths(await ask({}, 'quartz hardness'))).toEqual(['three.test/c', 'two.test/b'])
  })

  test('queries SearXNG the way it expects', async () => {
    page('one.test/a', words('quartz'))
    await ask({ country: 'DE', search_lang: 'de', safesearch: 'moderate', freshness: 'pw' }, '!g :fr quartz')
    expect(sent()).toMatchObject({
      q: 'g fr quartz',
      categories: 'general',
      language: 'de-DE',
      safesearch: '1',
      time_range: 'week',
      format: 'json',
    })
    await ask()
    expect(sent()).toMatchObject({ safesearch: '0' })
    expect(sent()).not.toHaveProperty('time_range')
  })

  test('in a script without spaces has the order of the engines', async () => {
    page('one.test/a', `<p>${'東京のラーメンはおいしいです。'.repeat(20)}</p>`)
    page('two.test/b', `<p>${'大阪のお好み焼き。'.repeat(20)}</p>`)
    expect(paths(await ask({ search_lang: 'ja' }, '食べ物'))).toEqual(['one.test/a', 'two.test/b'])
  })

  test('is empty if the engines found nothing, and a failure if they all failed', async () => {
    expect((await ask()).grounding.generic).toEqual([])
    bench.found = { results: [], unresponsive: [['google', 'CAPTCHA']] }
    expect(await failure()).toMatchObject({ kind: 'error' })
  })

  test('for a corrected query has the results of the correction', async () => {
    page('one.test/a', words('quartz'))
    bench.searxng.instead = ({ query }) =>
      Response.json(
        searxngBody(
          '',
          'general',
          query.get('q') === 'quartz' ? bench.found : { results: [], corrections: ['quartz'] },
        ),
      )
    const body = await ask({}, 'quarz')
    expect(body.query).toEqual({ original: 'quarz', altered: 'quartz' })
    expect(paths(body)).toEqual(['one.test/a'])
    expect(await ask({ spellcheck: false }, 'quarz')).toMatchObject({
      query: { original: 'quarz', spellcheck_off: true },
      grounding: { generic: [] },
    })
  })
})

describe('visiting pages', () => {
  test('identifies itself', async () => {
    page('one.test/a', words('quartz'))
    await ask()
    const agents = new Set(bench.web.received.map(({ headers }) => headers.get('user-agent')))
    expect([...agents]).toEqual(['paid-api-gateway/0.1 (+https://gateway.example)'])
  })

  test("obeys robots.txt: a disallowed page has the engine's excerpt", async () => {
    page('closed.test/private/a', words('quartz'))
    page('closed.test/open/b', words('quartz'))
    bench.pages['closed.test/robots.txt'] = () => new Response('User-agent: *\nDisallow: /private/')
    const body = await ask()
    expect(visited()).not.toContain('closed.test/private/a')
    expect(visited()).toContain('closed.test/open/b')
    const closed = body.grounding.generic.find(({ url }) => url.includes('/private/'))
    expect(closed).toMatchObject({ title: 'Found closed.test/private/a', snippets: ['Excerpt of quartz'] })
  })

  test.each([
    ['a rule for us by name', 'User-agent: paid-api-gateway\nDisallow: /\n\nUser-agent: *\nAllow: /', 200, false],
    ['a rule for another', 'User-agent: otherbot\nDisallow: /', 200, true],
    ['an exception', 'User-agent: *\nDisallow: /\nAllow: /a', 200, true],
    ['no file', '', 404, true],
    ['a file that is forbidden', '', 403, true],
    ['a server that fails', '', 500, false],
    ['a server that is busy', '', 429, false],
  ])('respects robots.txt with %s', async (_, text, status, may) => {
    const host = `r${Bun.hash(text + status)}.test`
    page(`${host}/a`, words('quartz'))
    bench.pages[`${host}/robots.txt`] = () => new Response(text, { status })
    await ask()
    expect(visited().includes(`${host}/a`)).toBe(may)
  })

  test("reads a site's robots.txt once an hour", async () => {
    for (const name of ['a', 'b', 'c']) page(`hourly.test/${name}`, words('quartz'))
    await ask()
    await ask()
    const robots = () => visited().filter((one) => one === 'hourly.test/robots.txt').length
    expect(robots()).toBe(1)
    bench.now += 3_600_000
    await ask()
    expect(robots()).toBe(2)
  })

  test('checks a redirect against the robots.txt of its target', async () => {
    page('first.test/a', '')
    bench.pages['first.test/a'] = () => Response.redirect(bench.at('second.test/b'), 302)
    bench.pages['second.test/b'] = bench.html(words('quartz'))
    bench.pages['second.test/robots.txt'] = () => new Response('User-agent: *\nDisallow: /b')
    await ask()
    expect(visited()).not.toContain('second.test/b')
  })

  test('never reaches an address that is not public, whatever the engines or a page name', async () => {
    page('inside.test/secret', '')
    page('hop.test/a', '')
    bench.pages['hop.test/a'] = () => Response.redirect('http://169.254.169.254/latest/meta-data/', 302)
    const results = [...bench.found.results, { url: 'http://127.0.0.1:22/', title: 'x', content: 'quartz' }]
    bench.found = { results }
    const body = await ask()
    expect(snippets(body).every((text) => /excerpt|quartz/i.test(text))).toBe(true)
    expect(visited().filter((one) => one.startsWith('inside'))).toEqual([])
  })

  test('uses the excerpt for what is not a page, too large, broken or gone; without one it is left out', async () => {
    page('a.test/1', '')
    bench.pages['a.test/1'] = () => new Response('%PDF', { headers: { 'content-type': 'application/pdf' } })
    page('b.test/1', '')
    bench.pages['b.test/1'] = () =>
      new Response('x'.repeat(2 * 1024 * 1024 + 1), { headers: { 'content-type': 'text/html' } })
    page('c.test/1', '')
    bench.pages['c.test/1'] = () => new Response('', { status: 500 })
    page('d.test/1', '', { content: '' })
    bench.pages['d.test/1'] = () => new Response('', { status: 404 })
    const body = await ask()
    expect(paths(body).sort()).toEqual(['a.test/1', 'b.test/1', 'c.test/1'])
    expect(snippets(body)).toEqual(Array(3).fill('Excerpt of quartz'))
  })

  test('waits for a slow page no longer than the call has', async () => {
    page('slow.test/a', '')
    bench.pages['slow.test/a'] = () => new Promise(() => undefined)
    page('fast.test/a', words('quartz'))
    const hasty = bench.open({ budgetMs: 3_000 })
    await hasty.context.call(contextInput('quartz'), never, SOMEBODY) // starts the thread, which the time is not for
    const body = await ask({}, 'quartz', hasty)
    expect(paths(body).sort()).toEqual(['fast.test/a', 'slow.test/a'])
    await hasty.close()
  })

  test('fetches at most 20 pages, eight at a time; the others have their excerpts', async () => {
    let now = 0
    let most = 0
    for (let i = 0; i < 30; i++) {
      page(`many.test/${i}`, '')
      const answer = bench.html(words('quartz'))
      bench.pages[`many.test/${i}`] = async () => {
        most = Math.max(most, ++now)
        await Bun.sleep(2)
        now--
        return answer()
      }
    }
    const body = await ask({ count: 30, maximum_number_of_urls: 30 })
    expect(visited().filter((one) => !one.endsWith('robots.txt'))).toHaveLength(20)
    expect(most).toBeLessThanOrEqual(8)
    expect(body.grounding.generic).toHaveLength(30)
  })

  test('stops when the caller hangs up, which says nothing about SearXNG', async () => {
    const other = bench.open()
    page('one.test/a', '')
    const abort = new AbortController()
    bench.searxng.instead = () => {
      abort.abort()
      return new Promise(() => undefined)
    }
    expect(await failure({}, other, abort.signal)).toMatchObject({ kind: 'timeout' })
    bench.searxng.instead = null
    expect(await other.context.ready()).toBe(true)
    await other.close()
  })
})

describe('parameters', () => {
  beforeEach(() => {
    for (let i = 0; i < 6; i++)
      page(
        `p${i}.test/doc`,
        Array.from({ length: 6 }, (_, part) => `<h2>Part ${part}</h2>${words(`quartz number ${i}`)}`.repeat(3)).join(
          '',
        ),
      )
  })

  test('goggles move, keep and remove pages, by address, title and text', async () => {
    expect(paths(await ask({ goggles: ['$discard\n$site=p3.test'] }))).toEqual(['p3.test/doc'])
    expect(paths(await ask({ goggles: ['$discard,site=p3.test'] }))).not.toContain('p3.test/doc')
    expect(paths(await ask({ goggles: ['$boost=10,site=p5.test'], count: 1 }))).toEqual(['p5.test/doc'])
    expect(paths(await ask({ goggles: ['$discard\nquartz number 4$incontent'] }))).toEqual(['p4.test/doc'])
    expect(paths(await ask({ goggles: ['$discard', 'title of p2$intitle'] }))).toEqual([])
    expect(await failure({ goggles: ['https://evil.example/x'] })).toMatchObject({ kind: 'invalid_input' })
  })
})

describe('freshness', () => {
  const dated = (published: string) =>
    `<html><head><title>t</title><meta property="article:published_time" content="${published}"></head><body><article>${words('quartz')}</article></body></html>`
  beforeEach(() => {
    const pages = { 'new.test/a': '2026-03-19T10:00:00Z', 'old.test/a': '2025-01-05T10:00:00Z' }
    for (const [address, published] of Object.entries(pages)) {
      page(address, '')
      bench.pages[address] = () => new Response(dated(published), { headers: { 'content-type': 'text/html' } })
    }
    page('undated.test/a', words('quartz'))
    page('engine.test/a', words('quartz'), { publishedDate: '2025-01-06T00:00:00' })
  })

  test('words: what is known to be older is left out', async () => {
    expect(paths(await ask({ freshness: 'pw' })).sort()).toEqual(['new.test/a', 'undated.test/a'])
    expect(paths(await ask()).length).toBe(4)
  })

  const DEAF: EngineConfig = { ...DUCKDUCKGO, time_range_support: false }
  const CONFIGS: readonly (readonly [string, readonly EngineConfig[] | null])[] = [
    ['no engine can search by age', [DEAF]],
    ['the only one that can is off', [DEAF, { ...DUCKDUCKGO, name: 'other', enabled: false }]],
    ['the only one that can finds pictures', [DEAF, { ...DUCKDUCKGO, name: 'other', categories: ['images'] }]],
    ['SearXNG does not say what its engines can do', null],
  ]
  describe('if', () => {
    let fresh: typeof plug
    let calls = 0
    beforeAll(() => {
      fresh = bench.open()
    })
    // It asks what engines can do at most once a minute.
    beforeEach(() => {
      bench.now += ++calls * 60_000
    })
    afterAll(() => fresh.close())

    test.each(CONFIGS)(
      '%s: an error, not an empty answer that costs money, and the source stays ready',
      async (_, engines) => {
        bench.engines = engines
        bench.find = () => ({ results: [] })
        expect(await failure({ freshness: 'pw' }, fresh)).toMatchObject({ kind: 'error', isAboutRequest: true })
        expect(await fresh.context.ready()).toBe(true)
        bench.find = () => bench.found
        expect(paths(await ask({}, 'quartz', fresh)).length).toBe(4)
      },
    )
  })

  test('nothing found by an engine that can search by age is an empty answer', async () => {
    bench.find = () => ({ results: [] })
    expect(paths(await ask({ freshness: 'pw' }))).toEqual([])
    bench.find = () => bench.found
  })

  test('the gateway is the sender of every search', async () => {
    await ask()
    expect(bench.searxng.last.headers.get('x-real-ip')).toBe('127.0.0.1')
  })

  test('a range: what is not known to be within is left out', async () => {
    expect(paths(await ask({ freshness: '2025-01-05to2025-01-06' })).sort()).toEqual(['engine.test/a', 'old.test/a'])
    expect(paths(await ask({ freshness: '2025-01-05to2025-01-05' }))).toEqual(['old.test/a'])
  })
})

test('safesearch leaves out pages that declare themselves adult, whatever the engines say', async () => {
  const rated = (rating: string) => () =>
    new Response(
      `<html><head><meta name="rating" content="${rating}"></head><body><article>${words('quartz')}</article></body></html>`,
      {
        headers: { 'content-type': 'text/html' },
      },
    )
  for (const [address, rating] of Object.entries({
    'adult.test/a': 'adult',
    'mature.test/a': 'mature',
    'clean.test/a': 'general',
  })) {
    page(address, '')
    bench.pages[address] = rated(rating)
  }
  expect(paths(await ask()).sort()).toEqual(['adult.test/a', 'clean.test/a', 'mature.test/a'])
  expect(paths(await ask({ safesearch: 'moderate' })).sort()).toEqual(['clean.test/a', 'mature.test/a'])
  expect(paths(await ask({ safesearch: 'strict' }))).toEqual(['clean.test/a'])
})
