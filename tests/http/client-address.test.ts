import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  formatAddress,
  isLoopback,
  limitSubject,
  parseAddress,
  UNKNOWN_ADDRESS,
} from '../../server/core/credentials/address'
import { Allowlist } from '../../server/core/credentials/allowlist'
import { clientAddress, type ForwardingHeader } from '../../server/http/middleware/caller/client-address'

const PROXIES = ['10.0.0.0/8', '2001:db8:ffff::/48']
const PROXY = '10.0.0.1'

/** The address that a call is taken to come from. */
function addressOf(
  socket: string,
  headers: Record<string, string>,
  proxies: readonly string[] = PROXIES,
  header: ForwardingHeader | null = null,
): string {
  const peer = parseAddress(socket)
  if (!peer) throw new Error(socket)
  return formatAddress(clientAddress(peer, new Headers(headers), { addresses: Allowlist.of(proxies), header }).address)
}

describe('the client address (spec 5.5, spec D3)', () => {
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
    ['unknown where a hop is no address', '203.0.113.7, unknown', 'unknown'],
    ['unknown where a hop is empty', '203.0.113.7,', 'unknown'],
    ['unknown where the hop before an inner proxy is no address', '203.0.113.7, ?, 10.0.0.9', 'unknown'],
    ['no address with leading zeros', '203.0.113.07', 'unknown'],
    ['no address with a zone', 'fe80::1%eth0', 'unknown'],
    ['no name', 'localhost', 'unknown'],
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
    ['space around elements and parameters', 'for=1.1.1.1 ;proto=http ,  proto=https; for=203.0.113.7', '203.0.113.7'],
    ['escapes in a quoted hop', 'for="203.0.113.\\7"', '203.0.113.7'],
    ['a comma and a semicolon in a quoted value', 'for=203.0.113.7;host="a,for=1.1.1.1;b"', '203.0.113.7'],
    ['an obfuscated port', 'for="[2001:db8::7]:_p"', '2001:db8::7'],
    ['by= is never the client', 'by=203.0.113.7', 'unknown'],
    ['an obfuscated hop', 'for=203.0.113.7, for=_hidden', 'unknown'],
    ['an unknown hop', 'for=203.0.113.7, for=unknown', 'unknown'],
    ['a quote that a caller leaves open', 'for="1.1.1.1, for=203.0.113.7', 'unknown'],
    ["a quote that ends in the proxy's element", 'x=", for="203.0.113.7:80"', 'unknown'],
    ['the same parameter twice', 'for=1.1.1.1;for=203.0.113.7', 'unknown'],
    ['an empty element', 'for=203.0.113.7,', 'unknown'],
    ['a parameter without a value', 'for=203.0.113.7;proto', 'unknown'],
    ['space around =', 'for = 203.0.113.7', 'unknown'],
    ['a member that only ends in for=', 'xfor=203.0.113.7', 'unknown'],
  ])('Forwarded: %s', (_, header, expected) => {
    expect(addressOf(PROXY, { forwarded: header }, PROXIES, 'forwarded')).toBe(expected)
  })

  test("Forwarded: entries sent by the caller never replace the proxy's entry; at most they make the address unknown", () => {
    const own = ['for=203.0.113.7', 'for="203.0.113.7:80";proto=https', 'proto=https;host="a, b";for=203.0.113.7']
    const sent = fc.stringMatching(/^([ -~]|for=|1\.1\.1\.1|[";,=\\]){0,40}$/)
    fc.assert(
      fc.property(sent, fc.constantFrom(...own), (caller, proxy) => {
        const headers = { forwarded: `${caller}, ${proxy}` }
        expect(['203.0.113.7', 'unknown']).toContain(addressOf(PROXY, headers, PROXIES, 'forwarded'))
      }),
      { numRuns: 2_000 },
    )
  })

  const OWN = '203.0.113.7'
  test.each<[string, ForwardingHeader | null, Record<string, string>, string]>([
    ['both, none named', null, { 'x-forwarded-for': '1.1.1.1', forwarded: `for=${OWN}` }, 'unknown'],
    ['both, an empty one', null, { 'x-forwarded-for': '', forwarded: `for=${OWN}` }, 'unknown'],
    ['only Forwarded, none named', null, { forwarded: `for=${OWN}` }, 'unknown'],
    ['only Forwarded, the other named', 'x-forwarded-for', { forwarded: `for=${OWN}` }, 'unknown'],
    ['only X-Forwarded-For, the other named', 'forwarded', { 'x-forwarded-for': OWN }, 'unknown'],
    ['both, Forwarded named', 'forwarded', { 'x-forwarded-for': '1.1.1.1', forwarded: `for=${OWN}` }, OWN],
    ['both, X-Forwarded-For named', 'x-forwarded-for', { 'x-forwarded-for': OWN, forwarded: 'for=1.1.1.1' }, OWN],
    ['neither', 'forwarded', {}, PROXY],
  ])('a trusted proxy that sends %s', (_, header, headers, expected) => {
    expect(addressOf(PROXY, headers, PROXIES, header)).toBe(expected)
  })

  test('an unknown address is in no allowlist and never loopback', () => {
    expect(Allowlist.of(['0.0.0.0/0', '::/0'])?.includes(UNKNOWN_ADDRESS)).toBe(false)
    expect(isLoopback(UNKNOWN_ADDRESS)).toBe(false)
    expect(limitSubject(UNKNOWN_ADDRESS)).toBe('unknown')
    // @ts-expect-error an address has no bits until it is known
    expect(UNKNOWN_ADDRESS.bits).toBeUndefined()
  })

  test('a mapped socket is its IPv4, and so a trusted proxy', () => {
    expect(addressOf('::ffff:10.0.0.1', { 'x-forwarded-for': '203.0.113.7' })).toBe('203.0.113.7')
    expect(addressOf('::ffff:198.51.100.1', {})).toBe('198.51.100.1')
  })

  test('a proxy given as one address trusts no neighbour of it', () => {
    expect(addressOf('10.0.0.2', { 'x-forwarded-for': '203.0.113.7' }, ['10.0.0.1'])).toBe('10.0.0.2')
  })
})
