import { describe, expect, test } from 'bun:test'
import { isIP } from 'node:net'
import fc from 'fast-check'
import { formatAddress, type KnownAddress, limitSubject, parseAddress } from '../../../server/core/credentials/address'

const v4 = fc.nat(0xffffffff).map((bits): KnownAddress => ({ family: 4, bits }))
const v6 = fc
  .array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 })
  .map((groups) => groups.reduce((bits, group) => (bits << 16n) | BigInt(group), 0n))
  .filter((bits) => bits >> 32n !== 0xffffn)
  .map((bits): KnownAddress => ({ family: 6, bits }))

const written = (text: string) => {
  const address = parseAddress(text)
  return address && formatAddress(address)
}

describe('an address', () => {
  test('reads back what it wrote, for every address', () => {
    fc.assert(fc.property(fc.oneof(v4, v6), (address) => expect(parseAddress(formatAddress(address))).toEqual(address)))
  })

  test("is written as the runtime's URL parser writes it", () => {
    fc.assert(
      fc.property(v6, (address) => {
        expect(`[${formatAddress(address)}]`).toBe(new URL(`http://[${formatAddress(address)}]`).hostname)
      }),
    )
  })

  test('of IPv6 is written by RFC 5952: lower case, no leading zeros, the longest and first run of zeros shortened', () => {
    const forms: [string, string][] = [
      ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
      ['2001:0db8::0001', '2001:db8::1'],
      ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
      ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
      ['0:0:0:0:0:0:0:0', '::'],
      ['0:0:0:0:0:0:0:1', '::1'],
      ['1:0:0:0:0:0:0:0', '1::'],
      ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
      ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ]
    for (const [given, expected] of forms) expect(written(given)).toBe(expected)
  })

  test('of IPv4 mapped into IPv6 is that IPv4 (spec D3)', () => {
    for (const text of ['::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1'])
      expect(parseAddress(text)).toEqual(parseAddress('192.0.2.1'))
    expect(written('::fffe:192.0.2.1')).toBe('::fffe:c000:201')
  })

  test('is accepted only if the runtime accepts it too', () => {
    const part = fc.constantFrom(
      '0',
      '1',
      'ffff',
      'g',
      '255',
      '256',
      '01',
      ':',
      '::',
      '.',
      '%eth0',
      ' ',
      '12345',
      '1.2.3.4',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        if (parseAddress(text)) expect(isIP(text)).toBeGreaterThan(0)
      }),
      { numRuns: 2000 },
    )
  })

  test('has no other form', () => {
    const junk = [
      ...['', ' ', '1.2.3', '1.2.3.4.5', '1.2.3.256', '01.2.3.4', '1.2.3.4 ', '0x1.2.3.4', '1.2.3.-4', '１.2.3.4'],
      ...[':', ':::', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '12345::', 'g::', 'fe80::1%eth0', '[::1]'],
      ...['::1.2.3.4.5', '1.2.3.4::', '::1.2.3.4:5', ':1:2:3:4:5:6:7', '1:2:3:4:5:6:7:', '1:2:3:4:5:6:7:8::', '::/0'],
    ]
    expect(junk.filter((text) => parseAddress(text) !== null)).toEqual([])
  })
})

describe('the subject of a limit without an account (spec D9)', () => {
  test('is the IPv4 address, mapped or not', () => {
    const subjects = ['192.0.2.7', '::ffff:192.0.2.7'].map((text) => limitSubject(parseAddress(text) as KnownAddress))
    expect(subjects).toEqual(['192.0.2.7', '192.0.2.7'])
  })

  test('is the /64 of an IPv6 address', () => {
    fc.assert(
      fc.property(v6, fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (address, host) => {
        if (address.family !== 6 || address.bits >> 64n === 0n) return
        const neighbour: KnownAddress = { family: 6, bits: ((address.bits >> 64n) << 64n) | host }
        expect(limitSubject(neighbour)).toBe(limitSubject(address))
      }),
    )
    expect(limitSubject(parseAddress('2001:db8:1:2:3:4:5:6') as KnownAddress)).toBe('2001:db8:1:2::/64')
  })
})
