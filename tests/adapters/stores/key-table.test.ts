import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { KeyTable } from '../../../server/adapters/stores/libsql/key-table'
import { Allowlist } from '../../../server/core/credentials/allowlist'
import { type ApiKey, KEY_DEFAULTS } from '../../../server/core/credentials/api-key'

/** Every other key as the gateway makes them. */
const hashOf = (i: number) => (i % 2 ? `hash ${i}` : hex(i, 64))
const hex = (i: number, length: number) => i.toString(16).padStart(length, '0')
const idsOf = (i: number) =>
  i % 2
    ? ({ id: `key_${i}`, accountId: `acct_${i}`, poolId: `pool_${i}` } as const)
    : ({ id: `key_${hex(i, 32)}`, accountId: `acct_${hex(i + 1, 32)}`, poolId: `pool_${hex(i + 2, 32)}` } as const)

const key = (i: number, more: Partial<ApiKey> = {}): ApiKey => ({
  ...KEY_DEFAULTS,
  ...idsOf(i),
  hash: hashOf(i),
  prefix: 'gwk_1',
  last4: '1234',
  name: `key ${i}`,
  createdAt: 1_790_000_000_000 + i,
  allowlist: null,
  endpointsAt: null,
  createdBy: null,
  disabledAt: null,
  revokedAt: null,
  stopsAt: null,
  replaces: null,
  replacedBy: null,
  ...more,
})

test('any keys in any order of changes are read as they were last set, whatever their names contain', () => {
  const change = fc.record({
    i: fc.integer({ min: 0, max: 3000 }),
    name: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.constant('two\nlines\n'), fc.constant('')),
    rpmLimit: fc.option(fc.integer({ min: 1, max: 9 })),
    note: fc.option(fc.string({ maxLength: 20 })),
    revokedAt: fc.option(fc.integer({ min: 1, max: 9 })),
    allowedIps: fc.constantFrom([], ['192.0.2.0/24']),
    tags: fc.constantFrom([], ['production', 'team a']),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400, size: 'max' }), (changes) => {
      const table = new KeyTable()
      const model = new Map<string, ApiKey>()
      for (const { i, ...more } of changes) {
        const changed = key(i, { ...more, allowlist: Allowlist.of(more.allowedIps) })
        table.set(changed)
        model.set(changed.hash, changed)
      }
      for (const [hash, expected] of model) expect(table.get(hash)).toEqual(expected)
      for (const absent of ['', 'hash', 'hash 1\nkey_1', 'hash 9999', '\n', hex(9999, 64).toUpperCase()])
        expect(table.get(absent)).toBeNull()
    }),
    { numRuns: 25 },
  )
})

test('ten thousand keys are found only by their whole hash, and repeated renames take no more room', () => {
  const table = new KeyTable()
  for (let i = 0; i < 10_000; i++) table.set(key(i))
  for (let i = 0; i < 5_000; i++) table.set(key(5, { name: `name ${i} ${'x'.repeat(200)}` }))
  for (let i = 0; i < 10_000; i++) if (i !== 5) expect(table.get(hashOf(i))).toEqual(key(i))
  expect(table.get('hash 5')?.name).toBe(`name 4999 ${'x'.repeat(200)}`)
  expect(table.bytes).toBeLessThan(10_000 * 300)
})
