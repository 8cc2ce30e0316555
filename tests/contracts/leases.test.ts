import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { LibsqlLeases } from '../../server/adapters/stores/libsql/cluster/lease-store'
import { MemoryLeases } from '../../server/adapters/stores/memory/leases'
import { ClockSkew, HELD_MS, LEASE_MS, Lease } from '../../server/core/cluster/leases'
import { oneCellLeases } from '../support/cluster/one-cell-leases'
import { openFile } from '../support/databases/database-file'
import { writeMigratedDatabase } from '../support/databases/migrated-database'
import { hasSqld, openSqld } from '../support/databases/sqld'
import { leaseStoreContract } from './lease-store.contract'

const folder = await mkdtemp(join(tmpdir(), 'leases-'))
const closers: (() => void | Promise<void>)[] = []
afterAll(async () => {
  for (const close of closers) await close()
  await rm(folder, { recursive: true, force: true })
})

describe('leases in memory', () => {
  leaseStoreContract(async () => {
    let now = 1_000_000
    return {
      leases: new MemoryLeases({ now: () => now }),
      async expire() {
        now += LEASE_MS + 1
      },
      async setBack(ms) {
        now -= ms
      },
    }
  })
})

describe.skipIf(!hasSqld)('leases on a libSQL server', () => {
  const server = hasSqld ? openSqld() : null
  leaseStoreContract(async () => {
    const { url = '' } = { ...(await server) }
    const leases = new LibsqlLeases({ url, authToken: null })
    const client = createClient({ url })
    closers.push(
      () => leases.close(),
      () => client.close(),
    )
    for (const table of ['leases', 'nodes', 'secrets']) await client.execute(`DROP TABLE IF EXISTS ${table}`)
    // The database's own clock decides: what it wrote is moved.
    const move = async (ms: number) => {
      await client.batch(
        [
          `UPDATE leases SET expires_at = expires_at + ${ms}`,
          `UPDATE nodes SET seen_at = seen_at + ${ms}`,
          `UPDATE secrets SET created_at = created_at + ${ms}`,
        ],
        'write',
      )
    }
    return { leases, expire: () => move(-LEASE_MS - 1), setBack: move }
  })
  afterAll(async () => (await server)?.close())
})

test('the tables that a node makes before it may migrate are those of the migration', async () => {
  const migrated = join(folder, 'migrated.db')
  await writeMigratedDatabase(migrated)
  const leases = new LibsqlLeases({ url: `file:${join(folder, 'made.db')}`, authToken: null })
  await leases.join({ id: 'node_a', url: 'http://127.0.0.1:1', version: '0.2.0', zones: null, skewMs: 0 }, {})
  await leases.close()
  const columns = async (file: string) => {
    const client = openFile(file)
    const { rows } = await client.execute(
      "SELECT m.name, c.name, c.type, c.pk, c.\"notnull\" FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.name IN ('leases', 'nodes', 'secrets')",
    )
    client.close()
    return rows.map((row) => Array.from(row).join(' ')).sort()
  }
  expect(await columns(join(folder, 'made.db'))).toEqual(await columns(migrated))
  expect((await columns(migrated)).length).toBe(15)
})

describe('a lease that is held', () => {
  test('is counted from before the renewal was sent, and never shortened by a late answer', () => {
    let now = 0
    const lease = new Lease(1, 0, () => now)
    now = HELD_MS - 1
    expect(lease.isHeld()).toBe(true)
    lease.renewed(3_000)
    lease.renewed(2_000)
    now = 3_000 + HELD_MS - 1
    expect(lease.isHeld()).toBe(true)
    now++
    expect(lease.isHeld()).toBe(false)
    lease.renewed(now)
    expect(lease.isHeld()).toBe(true)
    lease.drop()
    expect(lease.isHeld()).toBe(false)
    // Its answer was on the way.
    lease.renewed(now)
    expect(lease.isHeld()).toBe(false)
  })

  test('is held by one node at a time, however slow the answers are (1,000 takes)', async () => {
    let now = 1_000_000
    const clock = { now: () => now }
    const leases = oneCellLeases(new MemoryLeases(clock))
    const rivals = ['a', 'b'].map((id) => ({ id, url: `http://${id}`, lease: null as Lease | null }))
    let taken = 0
    while (taken < 1_000) {
      const rival = rivals[Math.floor(Math.random() * 2)]
      if (!rival) continue
      const sentAt = now
      now += Math.floor(Math.random() * 1_000)
      if (rival.lease && Math.random() < 0.5) {
        const renewed = await leases.renew(rival.id, rival.lease.term)
        now += Math.floor(Math.random() * 6_000)
        if (renewed) rival.lease.renewed(sentAt)
      } else {
        const term = await leases.take(rival)
        now += Math.floor(Math.random() * 6_000)
        if (term !== null) {
          rival.lease = new Lease(term, sentAt, clock.now)
          taken++
        }
      }
      expect(rivals.filter(({ lease }) => lease?.isHeld()).length).toBeLessThan(2)
      now += Math.floor(Math.random() * 4_000)
    }
  })
})

describe('the clock of a node', () => {
  test('is ahead by what is certain: a slow response moves nothing that may be true, and many make it exact', () => {
    const skew = new ClockSkew()
    // It is 3 s ahead. The request takes `there` to the database, and its answer `back`.
    const measured = (there: number, back: number) => {
      skew.measure(3_000, 3_000 + there + back, there)
      return skew.certainMs
    }
    expect([measured(2_000, 0), measured(500, 500), measured(0, 2_400), measured(2_400, 0)]).toEqual([
      1_000, 2_500, 3_000, 3_000,
    ])
    // Somebody set it right.
    skew.measure(0, 10, 5)
    expect(skew.certainMs).toBe(5)
  })

  test('counts as wrong only when it certainly is, three times in a row', () => {
    const skew = new ClockSkew()
    // 5 s ahead, measured with a response that took 9 s: it may be right.
    for (let i = 0; i < 3; i++) skew.measure(0, 9_000, -500)
    expect(skew.problem()).toBeNull()
    for (let i = 0; i < 2; i++) skew.measure(10_000, 10_010, 8_000)
    expect([skew.problem(), skew.ms]).toEqual([null, 2_005])
    skew.measure(10_000, 10_010, 8_000)
    expect(skew.problem()).toBe("the clock is 2.0 s ahead of the database's; synchronize it (NTP)")
    skew.measure(10_000, 10_010, 10_005)
    expect(skew.problem()).toBeNull()
  })
})
