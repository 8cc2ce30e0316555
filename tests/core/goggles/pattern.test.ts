import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parsePattern } from '../../../server/core/goggles/pattern'
import { cpuMs } from '../../support/cpu-time'

const hits = (pattern: string, text: string): boolean => {
  const parsed = parsePattern(pattern)
  if (typeof parsed === 'string') throw new Error(parsed)
  return parsed.matches(text.toLowerCase())
}

describe('a pattern of a goggle', () => {
  test.each([
    ['plain text is found anywhere', 'blog', 'https://example.org/my-blogs/1', true],
    ['letter case makes no difference', '/BLOG/', 'https://example.org/Blog/', true],
    ['a dot is a dot', 'a.b', 'https://axb.org/', false],
    ['a question mark is one', '/a?b', 'https://x.org/a?b=1', true],
    ['brackets and plus are themselves', '[a](b)+', 'x[a](b)+y', true],
    ['* is any run', '/a*z', '/a/b/c/z', true],
    ['* is also nothing', '/a*z', '/az', true],
    ['* keeps the order', '/a*z', '/z/a', false],
    ['two * ', 'a*b*c', 'xaxxbxxc', true],
    ['two *, the last part missing', 'a*b*c', 'xaxxbxx', false],
    ['^ is a separator', '/foo.js^', 'https://x.org/foo.js?x=1', true],
    ['^ is the end', '/foo.js^', 'https://x.org/foo.js', true],
    ['^ is a slash', '/foo.js^', 'https://x.org/foo.js/', true],
    ['^ is no letter', '/foo.js^', 'https://x.org/foo.jsx', false],
    ['^ is no digit, dash, dot, percent or underscore', '/a^', '/a1 /a- /a. /a% /a_', false],
    ['^ within', 'org^a', 'https://x.org/a', true],
    ['^ within is not the end', 'org^a', 'https://x.org', false],
    ['^ ^ at the end takes one or none', 'org^^', 'https://x.org/', true],
    ['^ at the front', '^a', 'x/a', true],
    ['| first anchors', '|https://example.org^', 'https://example.org/path', true],
    ['| first anchors, and ^ ends', '|https://example.org^', 'https://example.org', true],
    ['| first anchors, other domain', '|https://example.org^', 'https://example.org.ac', false],
    ['| first, not at the start', '|example', 'https://example.org', false],
    ['| last anchors', '.pdf|', 'https://x.org/a.pdf', true],
    ['| last, not at the end', '.pdf|', 'https://x.org/a.pdf?x', false],
    ['| both: exactly this', '|https://brave.com|', 'https://brave.com', true],
    ['| both: not more', '|https://brave.com|', 'https://brave.com/', false],
    ['| within is itself', 'a|b', 'xa|by', true],
    ['anchored with *', '|https*.pdf|', 'https://x.org/a.pdf', true],
    ['anchored with *, not at the end', '|https*.pdf|', 'https://x.org/a.pdf.html', false],
    ['anchored at the end with ^', 'a*b^|', 'a.pdf/b/', true],
    ['anchored at the end with ^ as the end', 'a*b^|', 'a.pdf/b', true],
    ['the end is looked for after the start', 'ab*ab|', 'xab', false],
    ['* at the end', 'a*', 'xa', true],
    ['anchored * at the end', 'a*|', 'xab', true],
    ['|| is no anchor of a domain: the second is itself', '||a', 'https://a.org', false],
  ])('%s: %s on %s is %p', (_, pattern, text, expected) => expect(hits(pattern, text)).toBe(expected))

  test.each([
    ['*', /character beside/],
    ['^', /character beside/],
    ['|', /character beside/],
    ['||', /character beside/],
    ['*^|', /character beside/],
    ['a*b*c*d', /more than 2 \*/],
    ['a^b^c^d', /more than 2 \^/],
  ])('%s is not a pattern', (pattern, rule) => expect(parsePattern(pattern)).toMatch(rule))

  test('no pattern is slow, whatever the text', () => {
    const text = `${'ab'.repeat(100_000)}`
    const patterns = ['a*b*c', `${'ab'.repeat(240)}^c`, '^a*b^x|', `a^${'b'.repeat(400)}`, 'a*bb*|']
    const took = cpuMs(() => {
      for (const pattern of patterns) expect(hits(pattern, text)).toBe(false)
    })
    expect(took).toBeLessThan(2_000)
  })
})

test('matches what an equivalent regular expression matches', () => {
  const characters = fc.constantFrom('a', 'b', '/', '^', '*')
  const pattern = fc.array(characters, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
  const text = fc.array(fc.constantFrom('a', 'b', '/', '.'), { maxLength: 30 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(pattern, text, (wanted, seen) => {
      const parsed = parsePattern(wanted)
      if (typeof parsed === 'string') return
      const source = wanted.replaceAll('*', '.*').replaceAll('^', '(?:[^a-z0-9_.%-]|$)')
      expect(parsed.matches(seen)).toBe(new RegExp(source).test(seen))
    }),
    { numRuns: 5000 },
  )
})
