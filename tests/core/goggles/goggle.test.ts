import { describe, expect, test } from 'bun:test'
import { type GoggleError, hostedGoggleLines, parseGoggle } from '../../../server/core/goggles/goggle'
import { brokenGoggles, goggleEntry } from '../../../server/core/goggles/goggle-entry'

const only = (line: string) => {
  const parsed = parseGoggle(line)
  if (!parsed.ok) throw new Error(parsed.error.rule)
  const [instruction] = parsed.value.instructions
  return { ...instruction, pattern: instruction?.pattern?.runs ?? null }
}
const errorOf = (text: string): GoggleError | null => {
  const parsed = parseGoggle(text)
  return parsed.ok ? null : parsed.error
}
const errorOfHosted = (text: string): GoggleError | null => {
  const lines = hostedGoggleLines(text)
  let next = lines.next()
  while (!next.done) next = lines.next()
  return next.value.ok ? null : next.value.error
}

describe('an instruction', () => {
  test.each([
    ['/blog/', { pattern: ['/blog/'], site: null, target: 'url', action: 'boost', strength: 1 }],
    ['/blog/$boost', { pattern: ['/blog/'], action: 'boost', strength: 1 }],
    ['/blog/$boost=10', { action: 'boost', strength: 10 }],
    ['/blog/$downrank', { action: 'downrank', strength: 1 }],
    ['/blog/$downrank=4,site=x.org', { site: 'x.org', action: 'downrank', strength: 4 }],
    ['$boost=3,site=x.org', { pattern: null, site: 'x.org', action: 'boost', strength: 3 }],
    ['$site=x.org', { pattern: null, site: 'x.org', action: 'boost', strength: 1 }],
    ['$site=x.org,discard', { site: 'x.org', action: 'discard' }],
    ['$discard', { pattern: null, site: null, action: 'discard' }],
    ['$site=.edu', { site: 'edu' }],
    ['$site=rs', { site: 'rs' }],
    ['$site=GitHub.IO', { site: 'github.io' }],
    ['$site=bücher.example', { site: 'xn--bcher-kva.example' }],
    ['word$inurl', { target: 'url' }],
    ['word$intitle,boost=2', { target: 'title', strength: 2 }],
    ['word$indescription,discard', { target: 'description', action: 'discard' }],
    ['word$incontent', { target: 'content' }],
    ['word$ boost=2 , site=x.org ', { strength: 2, site: 'x.org' }],
    ['/a$b$boost=2', { pattern: ['/a$b'], strength: 2 }],
    ['/a$boost$boost=2', { pattern: ['/a$boost'], strength: 2 }],
    ['\t /blog/ $boost=2 \r', { pattern: ['/blog/'], strength: 2 }],
  ])('%s', (line, expected) => expect(only(line)).toMatchObject(expected))

  test.each([
    ['$boost', /needs a pattern or a site/],
    ['$downrank=2', /needs a pattern or a site/],
    ['$discard,intitle', /needs a pattern/],
    ['$intitle,site=x.org', /needs a pattern/],
    ['/a$', /empty option/],
    ['$', /empty option/],
    ['/a$boost=0', /from 1 to 10/],
    ['/a$boost=11', /from 1 to 10/],
    ['/a$boost=', /from 1 to 10/],
    ['/a$boost=-1', /from 1 to 10/],
    ['/a$boost=1.5', /from 1 to 10/],
    ['/a$downrank=99', /from 1 to 10/],
    ['/a$discard=1', /takes no value/],
    ['/a$intitle=x', /takes no value/],
    ['/a$boost,downrank', /second action/],
    ['/a$boost=1,boost=1', /second action/],
    ['/a$intitle,inurl', /second target/],
    ['/a$site=a.org,site=b.org', /twice/],
    ['/a$site=', /needs a domain/],
    ['/a$site', /needs a domain/],
    ['/a$site=a.org/path', /must be a domain/],
    ['/a$site=..', /must be a domain/],
    ['/a$site=a b', /must be a domain/],
    ['/a$boost,,site=a.org', /empty option/],
    ['/a$rank=1', /"rank" is no option/],
    ['/a$toString', /no option/],
    ['***$boost', /character beside/],
    [`/${'a'.repeat(500)}`, /at most 500 characters/],
  ])('%s is not an instruction', (line, rule) =>
    expect(errorOf(line)).toMatchObject({ line: 1, rule: expect.stringMatching(rule) }),
  )

  test('500 characters are allowed, counted as characters', () => {
    expect(errorOf(`/${'a'.repeat(499)}`)).toBeNull()
    expect(errorOf(`/${'😀'.repeat(499)}`)).toBeNull()
  })
})

describe('a goggle', () => {
  test('may have comments, metadata, blank lines, CRLF and a BOM', () => {
    const parsed = parseGoggle('\uFEFF! name: First\r\n!NAME: second\r\n! just words\r\n\r\n/a\r\n! author: late\r\n')
    expect(parsed.ok && parsed.value.instructions.length).toBe(1)
    expect(parsed.ok && [...parsed.value.metadata]).toEqual([['name', 'First']])
  })

  test('with one wrong line is wrong, and the error gives the line number, counting comments', () => {
    expect(errorOf('! c\n\n/a$boost\n/b$boost=12\n/c')).toEqual({ line: 4, rule: 'boost goes from 1 to 10' })
  })

  test('has at most 100,000 instructions and 2,000,000 bytes', () => {
    expect(errorOf('abc\n'.repeat(100_000))).toBeNull()
    expect(errorOf('abc\n'.repeat(100_001))).toMatchObject({ line: 100_001 })
    expect(errorOf(`abc\n!${'x'.repeat(1_999_995)}`)).toBeNull()
    expect(errorOf(`abc\n!${'x'.repeat(1_999_996)}`)).toMatchObject({ rule: expect.stringMatching(/2000000 bytes/) })
  })

  test('has at most 1000 patterns that can only be tried one by one', () => {
    expect(errorOf('ab\n'.repeat(1000))).toBeNull()
    expect(errorOf('ab\n'.repeat(1001))).toMatchObject({ line: 1001 })
  })

  test('that is published must have its metadata', () => {
    const head = '! name: a\n! description: b\n! public: true\n! author: c\n'
    expect(errorOfHosted(`${head}/a`)).toBeNull()
    expect(errorOfHosted('/a')?.rule).toMatch(/lacks name, description, public, author/)
    expect(errorOfHosted(`${head.replace('true', 'yes')}/a`)?.rule).toMatch(/true or false/)
    expect(errorOfHosted(`${head}/a$x`)).toMatchObject({ line: 5 })
  })
})

describe('the entries of a request', () => {
  test('an entry is an address if it is one line that starts like one', () => {
    expect(goggleEntry('https://gitlab.com/a/b/-/raw/main/c.goggle')).toMatchObject({ kind: 'hosted' })
    expect(goggleEntry('https://x.org/\n/b')).toMatchObject({ kind: 'inline' })
    expect(goggleEntry('|https://x.org')).toMatchObject({ kind: 'inline' })
  })

  test.each([
    'http://github.com/a/b',
    'https://example.org/a.goggle',
    'https://github.com:8443/a',
    'https://user@github.com/a',
    'https://github.com.evil.example/a',
    'https://127.0.0.1/a',
  ])('%s may not host goggles', (url) => expect(brokenGoggles([url])).toMatch(/^entry 1 must be an https address on/))

  test('the first broken rule is reported with entry and line', () => {
    expect(brokenGoggles(['$discard', '/a\n/b$boost=0'])).toBe('entry 2, line 2: boost goes from 1 to 10')
    expect(brokenGoggles(['! only words'])).toBe('entry 1 holds no instruction')
    expect(brokenGoggles([`${'abc\n'.repeat(25_001)}`])).toMatch(/entry 1 takes .* over 100000 bytes together/)
    const half = 'abc\n'.repeat(12_600)
    expect(brokenGoggles([half])).toBeNull()
    expect(brokenGoggles([half, half])).toMatch(/entry 2 takes .* over 100000 bytes together/)
    expect(brokenGoggles(['$discard', 'https://gitlab.com/a'])).toBeNull()
  })
})
