import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Address, formatAddress, parseAddress } from '../../../server/core/credentials/address'
import { Allowlist } from '../../../server/core/credentials/allowlist'

interface Range {
  readonly family: 4 | 6
  readonly bits: bigint
  readonly prefix: number
}

const width = (family: 4 | 6) => (family === 4 ? 32 : 128)
const addressOf = (family: 4 | 6, bits: bigint): Address =>
  family === 4 ? { family, bits: Number(bits) } : { family, bits }

/** Few distinct high bits, so that ranges meet, touch and hold each other. */
const near = (family: 4 | 6) =>
  fc
    .tuple(
      fc.constantFrom(0n, 1n, 2n, 3n, 254n, 255n),
      fc.bigInt({ min: 0n, max: (1n << BigInt(width(family) - 8)) - 1n }),
    )
    .map(([high, low]) => (high << BigInt(width(family) - 8)) | low)
    .filter((bits) => family === 4 || bits >> 32n !== 0xffffn)
const range = fc.constantFrom<4 | 6>(4, 6).chain((family) =>
  fc.tuple(near(family), fc.integer({ min: 0, max: width(family) })).map(([bits, prefix]): Range => {
    const host = BigInt(width(family) - prefix)
    return { family, bits: (bits >> host) << host, prefix }
  }),
)
const texts = (ranges: readonly Range[]) =>
  ranges.map(({ family, bits, prefix }) => `${formatAddress(addressOf(family, bits))}/${prefix}`)

/** The slow and plain way to match. */
function matches(ranges: readonly Range[], family: 4 | 6, bits: bigint): boolean {
  return ranges.some((r) => {
    const host = BigInt(width(family) - r.prefix)
    return r.family === family && bits >> host === r.bits >> host
  })
}

function listOf(...entries: string[]): (address: string) => boolean {
  const parsed = Allowlist.parse(entries)
  if (!parsed.ok) throw new Error(parsed.error.rule)
  return (address) => parsed.value.includes(parseAddress(address) as Address)
}

function ruleOf(entry: string): string | null {
  const parsed = Allowlist.parse([entry])
  return parsed.ok ? null : parsed.error.rule
}

describe('an allowlist', () => {
  test('matches exactly the addresses that the plain matcher matches, for any set of ranges', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 20 }), (ranges, picks) => {
        const parsed = Allowlist.parse(texts(ranges))
        if (!parsed.ok) throw new Error(`${parsed.error.entry} ${parsed.error.rule}`)
        for (const { family, bits, prefix } of ranges) {
          const size = 1n << BigInt(width(family) - prefix)
          const edges = [bits - 1n, bits, bits + size - 1n, bits + size]
          const inside = picks.map((pick) => bits + (BigInt(pick) % size))
          for (const at of [...edges, ...inside]) {
            if (at < 0n || at >> BigInt(width(family)) !== 0n || (family === 6 && at >> 32n === 0xffffn)) continue
            expect(parsed.value.includes(addressOf(family, at))).toBe(matches(ranges, family, at))
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('matches one address, a range of IPv4 and a range of IPv6', () => {
    const has = listOf('192.0.2.1', '10.0.0.0/8', '2001:db8::/32')
    const inside = ['192.0.2.1', '10.0.0.0', '10.255.255.255', '2001:db8::', '2001:db8:ffff::1']
    const outside = ['192.0.2.0', '192.0.2.2', '9.255.255.255', '11.0.0.0', '2001:db7:ffff::', '2001:db9::', '::1']
    expect(inside.filter((address) => !has(address))).toEqual([])
    expect(outside.filter(has)).toEqual([])
  })

  test('recognizes an IPv4 address in its IPv6 form, on either side', () => {
    expect(listOf('192.0.2.1')('::ffff:192.0.2.1')).toBe(true)
    expect(listOf('::ffff:192.0.2.1')('192.0.2.1')).toBe(true)
    expect(listOf('::ffff:10.0.0.0/104')('10.1.2.3')).toBe(true)
    expect(listOf('::ffff:10.0.0.0/104')('11.0.0.0')).toBe(false)
    expect(listOf('::ffff:0:0/96')('255.255.255.255')).toBe(true)
  })

  test('of all IPv4 matches no IPv6, and the other way round', () => {
    expect(listOf('0.0.0.0/0')('2001:db8::1')).toBe(false)
    expect(listOf('::/0')('192.0.2.1')).toBe(false)
  })

  test('merges ranges that touch or contain each other, and keeps the gap between others', () => {
    const has = listOf('10.0.0.0/25', '10.0.0.128/25', '10.0.0.0/26', '10.0.2.0/24')
    expect(['10.0.0.0', '10.0.0.255', '10.0.2.0'].every(has)).toBe(true)
    expect(['10.0.1.0', '10.0.1.255', '10.0.3.0'].some(has)).toBe(false)
  })

  test('refuses host bits under the mask and proposes the network (spec D3)', () => {
    expect(ruleOf('10.0.0.1/8')).toBe('has host bits set; the network is 10.0.0.0/8')
    expect(ruleOf('2001:db8::1/64')).toBe('has host bits set; the network is 2001:db8::/64')
    expect(ruleOf('::ffff:10.0.0.1/120')).toBe('has host bits set; the network is 10.0.0.0/24')
  })

  test('refuses a mask that is too long for the address', () => {
    for (const entry of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/8 ', '10.0.0.0/1e1'])
      expect(ruleOf(entry)).toBe('must have a prefix length from 0 to 32 after the slash')
    expect(ruleOf('::/129')).toBe('must have a prefix length from 0 to 128 after the slash')
    for (const entry of ['::ffff:10.0.0.0/95', '::ffff:10.0.0.0/129'])
      expect(ruleOf(entry)).toBe('must have a prefix length from 96 to 128 after the slash')
  })

  test('names the entry that is wrong', () => {
    expect(Allowlist.parse(['10.0.0.1', 'example.com', '::1'])).toEqual({
      ok: false,
      error: { entry: 'example.com', rule: 'must be an IPv4 or IPv6 address, or a CIDR range' },
    })
  })

  test('without entries is null: any address may call', () => {
    expect(Allowlist.of([])).toBeNull()
    expect(() => Allowlist.of(['junk'])).toThrow('junk')
  })
})
