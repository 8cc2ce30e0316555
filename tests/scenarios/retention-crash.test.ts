import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { writeMigratedDatabase } from '../support/databases/migrated-database'
import { CUTOFF, OLD_ROWS, oldId, PRICE } from '../support/databases/pruning-child'
import { call, charge, NOON, openTestStores } from '../support/ledger-parts'
import { IS_LONG } from '../support/long'
import { reconcile } from '../support/reconcile'

const LIVES = 3
/** Of some 200 steps that all old rows need, so that every kill comes in the middle. */
const STEPS_A_LIFE = 25

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-retention-crash-'))
  await writeMigratedDatabase(join(folder, 'gateway.db'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a process that removes old rows and charges calls, and kills it in the middle of a step. Resolves to the charges it confirmed. */
async function killedLife(account: string): Promise<readonly string[]> {
  const program = join(import.meta.dir, '..', 'support', 'databases', 'pruning-child.ts')
  const child = Bun.spawn([process.execPath, program, folder, account], { stdout: 'pipe', stderr: 'inherit' })
  let output = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true })
    if (!child.killed && output.split('step\n').length > STEPS_A_LIFE) child.kill('SIGKILL')
  }
  expect(await child.exited).not.toBe(0)
  // A line that the kill cut says nothing.
  return output
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('req_'))
}

test.skipIf(!IS_LONG)(
  'kill -9 while old rows are removed: no charged row is lost, the sums agree, and the next start goes on',
  async () => {
    let stores = await openTestStores({ folder })
    const account = await stores.account()
    for (let i = 0; i < OLD_ROWS; i++) {
      const { id, at } = oldId(i)
      const record = call(account, i % 2 ? PRICE : null, { id, at, clientRequestId: `mine-${i}` })
      if (record.charged) await stores.journal.append(charge(account, PRICE, { call: record }))
      else stores.journal.note(record)
    }
    await stores.journal.drained()
    await stores.close()
    const confirmed: string[] = []
    for (let life = 0; life < LIVES; life++) confirmed.push(...(await killedLife(account)))
    expect(confirmed.length).toBeGreaterThan(LIVES)

    stores = await openTestStores({ folder })
    const rows = () =>
      stores.db.all<{ id: string; cost: number | null; address: string }>(
        sql`SELECT id, cost, address FROM requests ORDER BY id`,
      )
    const isOldAndFree = ({ id, cost }: { id: string; cost: number | null }) => id < oldId(OLD_ROWS).id && !cost
    const halfway = (await rows()).filter(isOldAndFree).length
    expect(halfway).toBeWithin(1, OLD_ROWS / 2)
    while (await stores.retention.prune('requests', CUTOFF, 50));
    const kept = await rows()
    expect(kept.filter(isOldAndFree)).toEqual([])
    const charged = new Set(kept.filter(({ cost }) => cost === PRICE).map(({ id }) => id))
    const old = Array.from({ length: OLD_ROWS }, (_, i) => oldId(i).id).filter((_, i) => i % 2)
    expect([...old, ...confirmed].filter((id) => !charged.has(id))).toEqual([])
    expect(kept.filter(({ id, address }) => id < oldId(OLD_ROWS).id && address !== '')).toEqual([])
    const [from, to] = [NOON, NOON + 10 * 86_400_000]
    const question = { accountId: account, keyId: null, operation: null, status: null, model: null, from, to }
    const { buckets } = await stores.reports.usage(question, [from, to], null)
    expect(buckets.map(({ requests, charged: sum }) => [requests, Number(sum)])).toEqual([
      [OLD_ROWS / 2 + charged.size, charged.size * PRICE],
    ])
    await stores.close()
    expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
  },
  60_000,
)
