import { describe, expect, test } from 'bun:test'
import { holdsAddress } from '../../../server/core/catalog/address-in-text'
import { cpuMs } from '../../support/cpu-time'

describe('the network creates a link from', () => {
  test.each([
    'https://example.com',
    'http://localhost:3000/a',
    'HTTPS://EXAMPLE.COM',
    'see (https://example.com/a?b=c).',
    'example.com',
    'Read this: example.com.',
    'EXAMPLE.COM',
    'www.example.co.uk',
    'sub.domain.example.io/path',
    'blog.rs/post',
    't.co',
    'bücher.example.org',
    'beispiel.广东',
    'xn--e1afmkfd.xn--p1ai',
    'new lines\nare no reason\nexample.dev',
    'two.words then example.com',
    'a_b.example.com',
  ])('%s', (text) => expect(holdsAddress(text)).toBe(true))
})

describe('the network creates no link from', () => {
  test.each([
    '',
    'hello',
    'node.js',
    'e.g. this',
    'i.e. that',
    'version 2.0.0',
    'readme.md',
    'main.rs',
    'end.Of sentence',
    'ada@example.com',
    '@example.com',
    '#example.com',
    'example.nosuchdomain',
    'http:// nothing',
    'https://',
    '...com',
    '3.14',
    'U.S.A.',
  ])('%s', (text) => expect(holdsAddress(text)).toBe(false))
})

test('a long text is checked quickly', () => {
  const took = cpuMs(() => {
    for (const piece of ['a.', 'a-', 'é', '.', 'a.b-', 'x'.repeat(100)])
      holdsAddress(piece.repeat(25_000 / piece.length))
  })
  expect(took).toBeLessThan(1000)
})
