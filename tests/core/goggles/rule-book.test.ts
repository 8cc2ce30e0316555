import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { PageFate, RuleSet } from '../../../server/core/goggles/rule-set'
import { cpuMs } from '../../support/cpu-time'
import { ruleSet } from '../../support/rule-set'

const book = (...texts: string[]) => ruleSet(texts)
const subject = (url: string, more = {}) => ({ url, title: '', description: '', content: '', ...more })
const fate = (goggle: string | string[], url: string, more = {}): string => {
  const told: PageFate = book(...[goggle].flat()).fateOf(subject(url, more))
  return 'strength' in told ? `${told.kind} ${told.strength}` : told.kind
}

describe('`site`', () => {
  test.each([
    ['the host', 'fandom.com', 'https://fandom.com/a', true],
    ['a host below', 'fandom.com', 'https://star.wars.fandom.com/a', true],
    ['www', 'fandom.com', 'https://www.fandom.com/a', true],
    ['a name that only ends so', 'fandom.com', 'https://notfandom.com/a', false],
    ['the host above', 'a.fandom.com', 'https://fandom.com/', false],
    ['a whole country', '.edu', 'https://cs.mit.edu/', true],
    ['letter case', 'Fandom.COM', 'https://FANDOM.com/', true],
    ['with a port', 'fandom.com', 'https://fandom.com:8080/', true],
    ['in the path only', 'fandom.com', 'https://x.org/fandom.com', false],
  ])('%s: %s on %s is %p', (_, site, url, hit) =>
    expect(fate(`$boost,site=${site}`, url)).toBe(hit ? 'boosted 1' : 'kept'),
  )

  test('with a pattern, both must match', () => {
    expect(fate('/posts/$site=x.org', 'https://x.org/posts/1')).toBe('boosted 1')
    expect(fate('/posts/$site=x.org', 'https://x.org/about')).toBe('kept')
    expect(fate('/posts/$site=x.org', 'https://y.org/posts/1')).toBe('kept')
  })
})

describe('targets', () => {
  const more = { title: 'Release Notes', description: 'what changed', content: 'fixed a leak' }
  test.each([
    ['notes$intitle', 'boosted 1'],
    ['notes$indescription', 'kept'],
    ['changed$indescription', 'boosted 1'],
    ['|fixed*leak|$incontent', 'boosted 1'],
    ['notes', 'kept'],
    ['/1$inurl', 'boosted 1'],
  ])('%s is %s', (goggle, expected) => expect(fate(goggle, 'https://x.org/1', more)).toBe(expected))

  test('the address is compared without its fragment', () => {
    expect(fate('secret', 'https://x.org/#secret')).toBe('kept')
    expect(fate('/a|', 'https://x.org/a#b')).toBe('boosted 1')
  })
})

describe('which rule wins', () => {
  const url = 'https://example.com/posts/hello.html'
  test.each([
    ['a discard over every boost', ['/posts/$boost=10', '$discard,site=example.com'], 'discarded'],
    ['the strongest boost', ['/posts/$boost=2\nhello$boost=7\nhtml$boost=3'], 'boosted 7'],
    ['a boost over a stronger downrank', ['$downrank=9,site=example.com', '/posts/$boost=3'], 'boosted 3'],
    ['the weakest downrank', ['/posts/$downrank=5\nhello$downrank=2\nhtml$downrank=4'], 'downranked 2'],
    ['a generic discard takes the rest', ['$discard\n/news/$boost'], 'discarded'],
    ['a generic discard spares what matches', ['$discard\n/posts/$boost'], 'boosted 1'],
    ['a generic discard spares a downrank', ['$discard', '/posts/$downrank=3'], 'downranked 3'],
    ['a generic discard counts wherever it stands', ['/news/$boost\n$discard'], 'discarded'],
    ['a generic discard is of all goggles', ['$discard', '/news/$boost'], 'discarded'],
    ['nothing', ['/news/$boost'], 'kept'],
  ])('%s', (_, goggles, expected) => expect(fate(goggles, url)).toBe(expected))
})

function reranked(rules: RuleSet, urls: readonly string[]): string[] {
  const order = rules.rerank(urls, (url) => subject(url))
  if (!order.ok) throw new Error(order.error)
  return order.value
}

describe('the new order', () => {
  const urls = Array.from({ length: 10 }, (_, i) => `https://x.org/${i}/`)
  const order = (goggle: string) =>
    reranked(book(goggle), urls)
      .map((url) => url.at(-2))
      .join('')

  test.each([
    ['ten lift the last to the head', '/9/$boost=10', '9012345678'],
    ['three of ten results are three places', '/9/$boost=3', '0123459678'],
    ['a downrank goes down', '/0/$downrank=3', '1230456789'],
    ['a discard leaves the others in place', '/4/$discard', '012356789'],
    ['a generic discard keeps what is named', '$discard\n/3/$boost\n/7/$downrank', '37'],
    ['what is not touched keeps its order', '/zzz/$boost=10', '0123456789'],
  ])('%s', (_, goggle, expected) => expect(order(goggle)).toBe(expected))

  test('with few results, each step is still a place', () => {
    const few = reranked(book('/2/$boost'), urls.slice(0, 3))
    expect(few.map((url) => url.at(-2)).join('')).toBe('021')
  })

  test('of no results is empty', () => {
    expect(reranked(book('/a$boost'), [])).toEqual([])
  })
})

test('the index finds what trying every instruction would find', () => {
  const piece = fc.stringMatching(/^[ab/.]{1,4}$/)
  const pattern = fc
    .tuple(piece, fc.constantFrom('', '*', '^'), piece, fc.constantFrom('', '|'))
    .map((parts) => parts.join(''))
  const rule = fc.tuple(pattern, fc.constantFrom('$boost=2', '$boost=3', '$downrank', '$discard', '$intitle', ''))
  const line = rule.map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 30 }), piece, piece, (lines, path, title) => {
      const told = book(lines.join('\n')).fateOf(subject(`https://a.b/${path}`, { title }))
      const each = lines.map((one) => book(one).fateOf(subject(`https://a.b/${path}`, { title })))
      const strengths = (kind: string) =>
        each.flatMap((one) => (one.kind === kind && 'strength' in one ? [one.strength] : []))
      const expected = each.some(({ kind }) => kind === 'discarded')
        ? 'discarded'
        : strengths('boosted').length > 0
          ? `boosted ${Math.max(...strengths('boosted'))}`
          : strengths('downranked').length > 0
            ? `downranked ${Math.min(...strengths('downranked'))}`
            : 'kept'
      expect('strength' in told ? `${told.kind} ${told.strength}` : told.kind).toBe(expected)
    }),
    { numRuns: 300 },
  )
})

test('goggles in separate books give the same result as in one', () => {
  const piece = fc.stringMatching(/^[ab/.]{1,4}$/)
  const pattern = fc
    .tuple(fc.constantFrom('', '|'), piece, fc.constantFrom('', '*', '^'), piece, fc.constantFrom('', '|', '^'))
    .map((parts) => parts.join(''))
  const action = fc.constantFrom('boost', 'boost=2', 'boost=10', 'downrank', 'downrank=4', 'downrank=9', 'discard')
  const site = fc.constantFrom('site=a.b', 'site=b', 'site=c.a.b', 'site=.b')
  const target = fc.constantFrom('inurl', 'intitle', 'indescription', 'incontent')
  const withPattern = fc.tuple(pattern, fc.tuple(action, target), fc.option(site)).map(([text, options, place]) => {
    return `${text}$${[...options, ...(place ? [place] : [])].join(',')}`
  })
  const withSite = fc.tuple(action, site).map((options) => `$${options.join(',')}`)
  const line = fc.oneof(
    { weight: 6, arbitrary: withPattern },
    { weight: 2, arbitrary: withSite },
    { weight: 1, arbitrary: pattern },
    { weight: 1, arbitrary: fc.constant('! a comment') },
    { weight: 1, arbitrary: fc.constant('$discard') },
  )
  const goggle = fc.array(line, { maxLength: 8 }).map((all) => all.join('\n'))
  const page = fc
    .tuple(fc.constantFrom('a.b', 'c.a.b', 'www.a.b', 'b', 'x.y'), fc.array(piece, { minLength: 4, maxLength: 4 }))
    .map(([host, [path, title = '', description = '', content = '']]) =>
      subject(`https://${host}/${path}`, { title, description, content }),
    )
  fc.assert(
    fc.property(
      fc.array(goggle, { minLength: 1, maxLength: 3 }),
      fc.array(page, { minLength: 1, maxLength: 12 }),
      (goggles, pages) => {
        const [apart, together] = [book(...goggles), book(goggles.join('\n'))]
        expect(pages.map((one) => apart.fateOf(one))).toEqual(pages.map((one) => together.fateOf(one)))
        expect(apart.rerank(pages, (one) => one)).toEqual(together.rerank(pages, (one) => one))
        expect(apart.looksAtContent).toBe(together.looksAtContent)
      },
    ),
    { numRuns: 300 },
  )
})

test('100,000 instructions over 200 results take no noticeable time', () => {
  const lines = Array.from({ length: 100_000 }, (_, i) => `/p${i}/$boost=${i % 10 || 1}`)
  const rules = book(lines.join('\n'))
  const urls = Array.from({ length: 200 }, (_, i) => `https://x.org/p${i * 7}/index.html`)
  const took = cpuMs(() => expect(reranked(rules, urls)).toHaveLength(200))
  expect(took).toBeLessThan(1_000)
})

describe('goggles that take more work than a search may', () => {
  const words = 'the relation of the tables and their keys, and how the rows of one are found from the other. '
  const pages = Array.from({ length: 200 }, (_, i) => ({ url: `https://x.org/${i}`, content: words.repeat(20) + i }))
  const outcome = (goggle: string) => book(goggle).rerank(pages, ({ url, content }) => subject(url, { content }))
  const many = (line: (i: number) => string) => Array.from({ length: 4000 }, (_, i) => line(i)).join('\n')

  test.each([
    ['one pattern again and again', () => 'and^the^$incontent'],
    ['patterns that differ', (i: number) => `and^${'how of their keys'.slice(i % 7)}^$incontent,boost=${1 + (i % 9)}`],
    ['plain words that stand everywhere', (i: number) => `found from the ot*${'her'.slice(i % 3)}*q$incontent`],
    ['rules of one site and all above it', (i: number) => `and^how^x$incontent,site=${['x.org', 'org'][i % 2]}`],
  ])('are refused, and the search ends: %s', (_, line) => {
    let refused = 0
    const took = cpuMs(() => {
      refused = [outcome(many(line))].filter(({ ok }) => !ok).length
    })
    expect(refused).toBe(1)
    expect(took).toBeLessThan(2_000)
  })

  test('are the same ones every time, and a few such patterns are accepted', () => {
    const size = (lines: number) => outcome('and^how^x$incontent\n'.repeat(lines)).ok
    const sizes = [10, 150, 2000]
    const first = sizes.map(size)
    expect(first[0]).toBe(true)
    expect(first.at(-1)).toBe(false)
    expect(sizes.map(size)).toEqual(first)
  })
})
