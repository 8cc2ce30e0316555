import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import { LeaseFile } from '../../../server/adapters/stores/postgres/lease-file'
import { PostgresLog } from '../../../server/adapters/stores/postgres/postgres-log'
import { type CopyState, succeed } from '../../../server/adapters/stores/postgres/succession'
import { HOUR_MS } from '../../../server/core/clock'
import { chained } from '../../../server/core/ledger/log-copy'
import { POSTGRES_IS_MISSING } from '../../../tools/postgres'
import { type Postgres, startPostgres } from '../../support/servers/postgres'
import { until } from '../../support/until'

setDefaultTimeout(120_000)

const LEASE_MS = 500
const START = { number: 0, chain: '' }
const GROUP = { number: 1, payload: '[]' }
const sealing = new KeyRing([{ id: 'k1', bytes: new Uint8Array(32).fill(7) }])
const nothing = () => undefined

let postgres: Postgres
let folder: string
beforeAll(async () => {
  if (POSTGRES_IS_MISSING) return
  folder = mkdtempSync(join(tmpdir(), 'succession-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  if (POSTGRES_IS_MISSING) return
  await postgres.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A log whose primary ends, having copied its tables up to a transaction, and a standby with a copy that goes this far. */
async function openPair(given: { readonly now?: () => number; readonly transaction: () => number }) {
  const { url } = await postgres.database()
  const file = new LeaseFile(join(folder, crypto.randomUUID()))
  const replica = { confirmedGroup: 0, sync: async () => 7 }
  const needs = { onFatal: nothing, onTrouble: nothing, onNote: nothing, keepHours: 1 }
  const log = await PostgresLog.open({ ...needs, url, sealing, file, replica, leaseMs: LEASE_MS }, START)
  await log.append(GROUP)
  const states: CopyState[] = []
  const taken = succeed({
    url,
    sealing,
    acceptsFailover: false,
    leaseMs: LEASE_MS,
    clock: { now: given.now ?? Date.now },
    copyEnd: async () => ({ ...chained(START, GROUP), transaction: given.transaction() }),
    onState: (state) => states.push(state),
  })
  return { log, states, taken }
}

test.skipIf(POSTGRES_IS_MISSING)(
  'a standby whose clock is an hour off is not ready, and takes nothing over until it is right (spec D4)',
  async () => {
    let offMs = HOUR_MS
    const { log, states, taken } = await openPair({ now: () => Date.now() + offMs, transaction: () => 7 })
    await until(() => states.length > 0)
    let isTaken = false
    void taken.then(() => {
      isTaken = true
    })
    await log.close()
    const looks = states.length
    await until(() => states.length > looks + 3)
    expect(isTaken).toBe(false)
    expect(new Set(states.map(({ problem }) => problem))).toEqual(
      new Set(['the clock of this machine is 3600 s off that of PostgreSQL: set it']),
    )
    offMs = 0
    await (await taken).release()
    expect(states.at(-1)?.problem).toBeNull()
  },
)

test.skipIf(POSTGRES_IS_MISSING)(
  'a lease that was given up is taken only once the copy has the last transaction, or it has run out (spec D4)',
  async () => {
    let transaction = 6
    const { log, states, taken } = await openPair({ transaction: () => transaction })
    await until(() => states.some(({ problem }) => problem === null))
    await log.close()
    const began = performance.now()
    setTimeout(() => {
      transaction = 7
    }, 100)
    await (await taken).release()
    expect(performance.now() - began).toBeGreaterThan(90)

    const other = await openPair({ transaction: () => 6 })
    await until(() => other.states.some(({ problem }) => problem === null))
    await other.log.close()
    await (await other.taken).release()
  },
)
