import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { brakeShareOf, configOf, shareOf } from '../../../server/compose/cluster/cells/cell-membership'
import { readConfig } from '../../../server/config'
import { Shares } from '../../../server/core/limits/shares'

const CELLS = ['main', 'c2', 'c3', 'c4', 'c5']

test('the shares of all cells are the whole cap, differ by at most one, and main has the most', () => {
  fc.assert(
    fc.property(fc.nat({ max: 5000 }), fc.integer({ min: 1, max: CELLS.length }), (cap, count) => {
      const all = CELLS.slice(0, count)
      const shares = all.map((name) => shareOf({ name, all })(cap))
      expect(shares.reduce((sum, share) => sum + share)).toBe(cap)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
      expect(shares[0]).toBe(Math.max(...shares))
    }),
  )
  expect(shareOf(undefined)(7)).toBe(7)
})

test('the brakes of all cells allow no more than the one of a gateway alone, while each can have one; main has half', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 2, max: CELLS.length }), (max, count) => {
      const all = CELLS.slice(0, count)
      const [main = 0, ...others] = all.map((name) => brakeShareOf({ name, all })(max))
      expect(main).toBe(Math.ceil(max / 2))
      expect(Math.min(...others)).toBeGreaterThan(0)
      const sum = others.reduce((total, share) => total + share, main)
      if (max - main >= others.length) expect(sum).toBeLessThanOrEqual(max)
    }),
  )
  for (const place of [undefined, { name: 'main', all: ['main'] }]) expect(brakeShareOf(place)(8)).toBe(8)
})

test('an API with fewer slots than cells is full in some of them', () => {
  const [first, second] = ['main', 'c2'].map((name) => new Shares(shareOf({ name, all: ['main', 'c2'] })))
  const taken = [first?.take('shop', 'a', 1), first?.take('shop', 'b', 1), second?.take('shop', 'b', 1)]
  expect(taken).toEqual([null, 'full', 'none'])
})

test("a cell's gateway has its own database, a part of the anonymous limit, and no backups", () => {
  const config = readConfig(
    {
      NODE_ENV: 'test',
      DATA_DIR: '/tmp/x',
      SECRET_KEY: 'a secret that only tests know, 32 bytes',
      ANON_RPM: '31',
      BACKUP_TO: '/tmp/y',
    },
    {},
  )
  const place = { all: ['main', 'c2', 'c3', 'c4'], messages: { send: async () => undefined } } as unknown as Parameters<
    typeof configOf
  >[1] &
    object
  const apart = { url: 'http://cell', authToken: 'secret' } as unknown as NonNullable<(typeof place)['apart']>
  const [main, c2] = [
    configOf(config, { ...place, name: 'main', apart: null }),
    configOf(config, { ...place, name: 'c2', apart }),
  ]
  // Callers without a known key are at main.
  expect([main.anonymousRpm, c2.anonymousRpm]).toEqual([16, 5])
  expect([main.databaseUrl, c2.databaseUrl, c2.databaseAuthToken]).toEqual([
    config.databaseUrl,
    'http://cell',
    'secret',
  ])
  expect([main.backup.to, c2.backup.to]).toEqual(['/tmp/y', null])
})
