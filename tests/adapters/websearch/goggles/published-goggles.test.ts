import { beforeEach, describe, expect, test } from 'bun:test'
import { PublishedGoggles, rawAddress } from '../../../../server/adapters/websearch/goggles/published-goggles'
import type {
  OutboundAnswer,
  OutboundProblem,
  OutboundProblemKind,
  OutboundRequest,
} from '../../../../server/core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../../../server/core/result'

const HEAD = '! name: a\n! description: b\n! public: true\n! author: c\n'
const ADDRESS = 'https://raw.githubusercontent.com/brave/goggles-quickstart/main/goggles/tech_blogs.goggle'

let clock: { at: number; now(): number }
let fetched: OutboundRequest[]
let answer: (request: OutboundRequest) => Promise<Result<OutboundAnswer, OutboundProblem>>
let goggles: PublishedGoggles

beforeEach(() => {
  clock = {
    at: 0,
    now() {
      return this.at
    },
  }
  fetched = []
  answer = async ({ url }) => page(url, `${HEAD}$boost,site=x.org`)
  goggles = new PublishedGoggles((request) => {
    fetched.push(request)
    return answer(request)
  }, clock)
})

function page(url: string, text: string, status = 200): Result<OutboundAnswer, OutboundProblem> {
  return ok({ url, status, headers: new Headers(), contentType: 'text/plain', body: new TextEncoder().encode(text) })
}
const read = (entries: readonly string[], signal = new AbortController().signal, caller = 'a') =>
  goggles.texts(entries, caller, signal)
const ruleOf = async (entries: readonly string[]) => {
  const texts = await read(entries)
  return texts.ok ? null : `${texts.error.kind}: ${texts.error.input?.rule ?? ''}`
}

test('entries are returned in order, inline ones unchanged', async () => {
  const texts = await read(['$discard', ADDRESS, '/a$boost'])
  const hosted = { text: `${HEAD}$boost,site=x.org`, isHosted: true }
  expect(texts).toEqual(ok([{ text: '$discard', isHosted: false }, hosted, { text: '/a$boost', isHosted: false }]))
})

test('the fetch accepts only plain text, 2 MB, a few seconds, and hosts of goggles at every hop', async () => {
  await read([ADDRESS])
  const [request] = fetched
  expect(request).toMatchObject({ url: ADDRESS, maxBytes: 2_000_000, timeoutMs: 4_000, maxRedirects: 3 })
  expect(request?.contentTypes).toContain('text/plain')
  const may = (url: string) => request?.mayVisit?.(new URL(url), new AbortController().signal)
  expect(may('https://gitlab.com/a')).toBe(true)
  expect(may('http://gitlab.com/a')).toBe(false)
  expect(may('https://evil.example/a')).toBe(false)
})

describe('the cache', () => {
  test('fetches once while the text is fresh, and again after that', async () => {
    await read([ADDRESS])
    clock.at += 14 * 60_000
    await read([ADDRESS, ADDRESS])
    expect(fetched).toHaveLength(1)
    clock.at += 60_000
    await read([ADDRESS])
    expect(fetched).toHaveLength(2)
  })

  test('shares one fetch between concurrent callers', async () => {
    await Promise.all([read([ADDRESS]), read([ADDRESS, ADDRESS])])
    expect(fetched).toHaveLength(1)
  })

  test('does not store a failure', async () => {
    answer = async ({ url }) => page(url, 'gone', 404)
    expect(await ruleOf([ADDRESS])).toBe('invalid_input: entry 1: the address answers 404')
    answer = async ({ url }) => page(url, `${HEAD}/a`)
    expect(await ruleOf([ADDRESS])).toBeNull()
  })

  test('is bounded: the least recently used texts are evicted', async () => {
    const large = `${HEAD}/a\n!${'x'.repeat(1_900_000)}`
    answer = async ({ url }) => page(url, large)
    const at = (n: number) => `https://gitlab.com/a/b/-/raw/main/${n}.goggle`
    for (let n = 0; n < 10; n++) await read([at(n)])
    await read([at(9)])
    expect(fetched).toHaveLength(10)
    clock.at += 60_000
    await read([at(0)])
    expect(fetched).toHaveLength(11)
  })

  test('lets a caller abort without ending the fetch for the others', async () => {
    const gate = Promise.withResolvers<void>()
    answer = async ({ url }) => {
      await gate.promise
      return page(url, `${HEAD}/a`)
    }
    const abort = new AbortController()
    const impatient = read([ADDRESS], abort.signal)
    const patient = read([ADDRESS])
    abort.abort()
    expect(await impatient).toMatchObject({ ok: false, error: { kind: 'timeout' } })
    gate.resolve()
    expect(await patient).toMatchObject({ ok: true })
  })
})

describe('goggles that are new on each fetch', () => {
  const addresses = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `https://gitlab.com/a/b/-/raw/main/${from + i}.goggle`)
  const large = (rule: string) => `${HEAD}${rule}\n!${'x'.repeat(1_990_000)}`
  const outcomes = async (asked: readonly string[], caller = 'a') => {
    const told: string[] = []
    for (const address of asked) {
      const one = await read([address], undefined, caller)
      told.push(one.ok ? 'read' : one.error.kind)
    }
    return told
  }

  test('ten of the longest are parsed per caller and minute; other callers have their own ten, and more the next minute', async () => {
    answer = async ({ url }) => page(url, large(`/${fetched.length}`))
    const told = await outcomes(addresses(0, 30))
    expect(told.slice(0, 10)).toEqual(Array(10).fill('read'))
    expect(told.slice(10)).toEqual(Array(20).fill('refused'))
    expect(fetched).toHaveLength(10)
    expect(await outcomes(addresses(9, 1))).toEqual(['read'])
    expect(await outcomes(addresses(50, 1), 'b')).toEqual(['read'])
    clock.at += 60_000
    expect(await outcomes(addresses(60, 1))).toEqual(['read'])
  })

  test('one that is wrong on its last line is not stored, and counts each time', async () => {
    answer = async ({ url }) => page(url, `${large('/a')}\n/b$boost=0`)
    const told = await outcomes(Array(30).fill(ADDRESS))
    expect(told.filter((one) => one === 'refused')).toHaveLength(20)
    expect(fetched).toHaveLength(10)
  })

  test('a caller over the limit learns when to retry, and that nothing was charged', async () => {
    clock.at = 45_000
    answer = async ({ url }) => page(url, large('/a'))
    await outcomes(addresses(0, 10))
    expect(await read(addresses(99, 1))).toMatchObject({
      ok: false,
      error: { failure: { code: 'upstream_rate_limit', retryAfterSeconds: 15 } },
    })
  })

  test('short ones, and hosts that do not respond, hardly count', async () => {
    expect(await outcomes(addresses(0, 100))).toEqual(Array(100).fill('read'))
    answer = async () => err({ kind: 'unreachable', reason: 'gone' })
    expect(await outcomes(addresses(200, 100))).toEqual(Array(100).fill('unavailable'))
  })
})

test('while 100,000 lines are validated, other work on the thread is not blocked', async () => {
  answer = async ({ url }) => page(url, HEAD + Array.from({ length: 100_000 }, (_, i) => `/p${i}/`).join('\n'))
  const reading = read([ADDRESS])
  let isDone = false
  void reading.then(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns++) await new Promise(setImmediate)
  expect(await reading).toMatchObject({ ok: true })
  expect(turns).toBeGreaterThan(50)
})

describe('an error in a published goggle is reported with entry and line', () => {
  const answering = (text: string, status = 200) => {
    answer = async ({ url }) => page(url, text, status)
    return ruleOf(['$discard', ADDRESS])
  }

  test('a wrong instruction', async () => {
    expect(await answering(`${HEAD}/a\n/b$boost=0`)).toBe('invalid_input: entry 2: line 6: boost goes from 1 to 10')
  })
  test('missing metadata', async () => {
    expect(await answering('/a')).toMatch(/^invalid_input: entry 2: line 1: the metadata lacks name/)
  })
  test('another host', async () => {
    expect(await ruleOf(['https://evil.example/a'])).toMatch(/^invalid_input: entry 1 must be an https address on/)
    expect(fetched).toEqual([])
  })

  test.each<[OutboundProblemKind, string]>([
    ['too_large', 'invalid_input: entry 1: the goggle is larger than 2000000 bytes'],
    ['wrong_type', 'invalid_input: entry 1: the URL does not return plain text; use the URL of the raw file'],
    ['not_allowed', 'invalid_input: entry 1: the URL redirects to another host'],
    ['too_many_redirects', 'invalid_input: entry 1: the URL redirects too many times'],
    ['forbidden_address', 'invalid_input: entry 1: the address does not give a goggle'],
    ['timeout', 'unavailable: '],
    ['unreachable', 'unavailable: '],
    ['cut', 'unavailable: '],
  ])('%s is %s', async (kind, expected) => {
    answer = async () => err({ kind, reason: 'secret.internal said so' })
    const told = await ruleOf([ADDRESS])
    expect(told).toBe(expected)
    expect(told).not.toContain('secret.internal')
  })

  test.each([500, 503, 429])('a host that answers %d is unavailable', async (status) => {
    expect(await answering('x', status)).toBe('unavailable: ')
  })
})

describe('`transferred_to`', () => {
  const moved = (to: string) => `${HEAD}! transferred_to: ${to}\n/old`

  test('is followed once', async () => {
    const next = 'https://gitlab.com/a/b/-/blob/main/c.goggle'
    answer = async ({ url }) => page(url, url === ADDRESS ? moved(next) : `${HEAD}/new`)
    expect(await read([ADDRESS])).toEqual(ok([{ text: `${HEAD}/new`, isHosted: true }]))
    expect(fetched.map(({ url }) => url)).toEqual([ADDRESS, 'https://gitlab.com/a/b/-/raw/main/c.goggle'])
  })

  test.each([
    ['again', ADDRESS],
    ['off the hosts', 'https://evil.example/c.goggle'],
    ['to no address', 'somewhere'],
  ])('%s is refused', async (_, to) => {
    answer = async ({ url }) => page(url, moved(to))
    expect(await ruleOf([ADDRESS])).toMatch(/transferred_to/)
  })
})

test.each([
  [
    'https://github.com/brave/goggles/blob/main/a/b.goggle',
    'https://raw.githubusercontent.com/brave/goggles/main/a/b.goggle',
  ],
  [
    'https://github.com/brave/goggles/raw/main/b.goggle#L3',
    'https://raw.githubusercontent.com/brave/goggles/main/b.goggle',
  ],
  ['https://gist.github.com/ada/0123abcd', 'https://gist.github.com/ada/0123abcd/raw'],
  ['https://gist.github.com/ada/0123abcd/raw/b.goggle', 'https://gist.github.com/ada/0123abcd/raw/b.goggle'],
  ['https://gitlab.com/a/b/-/blob/main/c.goggle', 'https://gitlab.com/a/b/-/raw/main/c.goggle'],
  ['https://gitlab.com/-/snippets/1234', 'https://gitlab.com/-/snippets/1234/raw'],
  ['https://gitlab.com/a/b/-/snippets/1234', 'https://gitlab.com/a/b/-/snippets/1234/raw'],
  [ADDRESS, ADDRESS],
])('the text of %s is at %s', (page, raw) => expect(rawAddress(new URL(page)).href).toBe(raw))
