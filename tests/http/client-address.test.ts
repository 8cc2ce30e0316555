import { describe, expect, test } from 'bun:test'
import { formatAddress, parseAddress } from '../../server/core/credentials/address'
import { Allowlist } from '../../server/core/credentials/allowlist'
import { clientAddress } from '../../server/http/client-address'

const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48']
const PROXY = '10.0.0.1'

/** The address that a call is taken to come from. */
function addressOf(socket: string, headers: Record<string, string>, proxies: readonly string[] = PROXIES): string {
  const peer = parseAddress(socket)
  if (!peer) throw new Error(socket)
  return formatAddress(clientAddress(peer, new Headers(headers), Allowlist.of(proxies)))
}

describe('the client address (spec 5.5, spec-answers 3)', () => {
  test('is the socket where no proxy is trusted, whatever the headers say', () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.8' }
    expect(addressOf('198.51.100.1', headers, [])).toBe('198.51.100.1')
  })

  test('is the socket where the socket is no trusted proxy, whatever the headers say', () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.8', 'x-real-ip': '203.0.113.9' }
    expect(addressOf('198.51.100.1', headers)).toBe('198.51.100.1')
  })

  test('is the socket where a trusted proxy forwards nothing', () => {
    expect(addressOf(PROXY, {})).toBe(PROXY)
    expect(addressOf(PROXY, { 'x-forwarded-for': '' })).toBe(PROXY)
  })

  test.each<[string, string, string]>([
    ['the one hop', '203.0.113.7', '203.0.113.7'],
    ['the right-most hop, never what the caller wrote left of it', '203.0.113.99, 203.0.113.7', '203.0.113.7'],
    ['the first untrusted hop from the right, past trusted proxies', '1.1.1.1, 203.0.113.7, 10.0.0.9', '203.0.113.7'],
    ['a hop without spaces around it', '1.1.1.1,203.0.113.7,10.0.0.9', '203.0.113.7'],
    ['a hop without its port', '203.0.113.7:4711', '203.0.113.7'],
    ['an IPv6 hop', '2001:db8::7', '2001:db8::7'],
    ['an IPv6 hop in brackets', '[2001:db8::7]', '2001:db8::7'],
    ['an IPv6 hop in brackets with its port', '[2001:db8::7]:443', '2001:db8::7'],
    ['a mapped hop as its IPv4', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv6 hop past a trusted IPv6 proxy', '2001:db8::7, 2001:db8:ffff::1', '2001:db8::7'],
    ['the left-most proxy where every hop is one', '10.0.0.7, 10.0.0.9', '10.0.0.7'],
    ['the proxy that reported a hop which is no address', '203.0.113.7, unknown', PROXY],
    ['the proxy that reported an empty hop', '203.0.113.7,', PROXY],
    ['the inner proxy where the hop before it is no address', '203.0.113.7, ?, 10.0.0.9', '10.0.0.9'],
    ['no address with leading zeros', '203.0.113.07', PROXY],
    ['no address with a zone', 'fe80::1%eth0', PROXY],
    ['no name', 'localhost', PROXY],
  ])('X-Forwarded-For: %s', (_, header, expected) => {
    expect(addressOf(PROXY, { 'x-forwarded-for': header })).toBe(expected)
  })

  test('X-Forwarded-For of several header lines is read as one list', () => {
    const headers = new Headers()
    headers.append('x-forwarded-for', '1.1.1.1')
    headers.append('x-forwarded-for', '203.0.113.7')
    expect(addressOf(PROXY, Object.fromEntries(headers))).toBe('203.0.113.7')
  })

  test.each<[string, string, string]>([
    ['the one hop', 'for=203.0.113.7', '203.0.113.7'],
    ['a quoted hop with its port', 'for="203.0.113.7:4711"', '203.0.113.7'],
    ['an IPv6 hop', 'for="[2001:db8::7]:443"', '2001:db8::7'],
    ['for among other members', 'by=10.0.0.1;proto=https;for=203.0.113.7;host=a', '203.0.113.7'],
    ['members in any letter case', 'For=203.0.113.7', '203.0.113.7'],
    ['the right-most untrusted element', 'for=1.1.1.1, for=203.0.113.7, for=10.0.0.9', '203.0.113.7'],
    ['by= is never the client', 'by=203.0.113.7', PROXY],
    ['an obfuscated hop ends the walk', 'for=203.0.113.7, for=_hidden', PROXY],
    ['an unknown hop ends the walk', 'for=203.0.113.7, for=unknown', PROXY],
    [
      "an open quote of the caller does not swallow the proxy's element",
      'for="1.1.1.1, for=203.0.113.7',
      '203.0.113.7',
    ],
    ['a member that only ends in for=', 'xfor=203.0.113.7', PROXY],
  ])('Forwarded: %s', (_, header, expected) => {
    expect(addressOf(PROXY, { forwarded: header })).toBe(expected)
  })

  test('where both headers are there, X-Forwarded-For counts and a Forwarded that a caller made up does not', () => {
    expect(addressOf(PROXY, { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=1.1.1.1' })).toBe('203.0.113.7')
  })

  test('a mapped socket is its IPv4, and so a trusted proxy', () => {
    expect(addressOf('::ffff:10.0.0.1', { 'x-forwarded-for': '203.0.113.7' })).toBe('203.0.113.7')
    expect(addressOf('::ffff:198.51.100.1', {})).toBe('198.51.100.1')
  })

  test('a proxy given as one address trusts no neighbour of it', () => {
    expect(addressOf('10.0.0.2', { 'x-forwarded-for': '203.0.113.7' }, ['10.0.0.1'])).toBe('10.0.0.2')
  })
})
