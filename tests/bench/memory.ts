import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { residentMb } from './proc'
import { table } from './statistics'
import { SERVER_CORE, type Workshop } from './workshop'

interface Load {
  readonly name: string
  readonly residentMb: number
  /** Its live part of the JavaScript heap after a full collection. */
  readonly heapMb: number
  /** Above the same gateway with one key. */
  readonly addedMb: number
  readonly startMs: number
}

export interface MemoryResult {
  readonly oneKeyMb: number
  readonly oneKeyHeapMb: number
  readonly oneKeyStartMs: number
  readonly loads: readonly Load[]
}

/** The memory of a process some seconds after its start, when it has given back what the start needed. */
const SETTLE_MS = 5_000

/** Starts the gateway on a database with one key, then on ones with `keys` more, and compares what they hold. */
export async function measureMemory(workshop: Workshop, keys: number): Promise<MemoryResult> {
  const template = await workshop.folder('one-key')
  await workshop.once('seed-core.ts', ['keys', template, '1'])
  const one = await settled(workshop, template)
  const loads: Load[] = []
  for (const perAccount of [1, 10]) {
    const folder = await workshop.folder('many-keys')
    cpSync(template, folder, { recursive: true })
    await fillWithKeys(`file:${join(folder, 'gateway.db')}`, { keys, perAccount, from: 0 })
    const found = await settled(workshop, folder)
    workshop.removeFolder(folder)
    loads.push({
      name: `${keys.toLocaleString('en')} keys of ${(keys / perAccount).toLocaleString('en')} accounts`,
      residentMb: found.mb,
      heapMb: found.heapMb,
      addedMb: found.mb - one.mb,
      startMs: found.startMs,
    })
  }
  workshop.removeFolder(template)
  return { oneKeyMb: one.mb, oneKeyHeapMb: one.heapMb, oneKeyStartMs: one.startMs, loads }
}

async function settled(workshop: Workshop, folder: string): Promise<{ mb: number; heapMb: number; startMs: number }> {
  const gateway = await workshop.helper('gateway.ts', [folder, 'http://127.0.0.1:9'], SERVER_CORE)
  await gateway.ask('gc')
  await Bun.sleep(SETTLE_MS)
  const heapMb = Number(await gateway.ask('gc')) / 1e6
  await Bun.sleep(500)
  const mb = residentMb(gateway.pid)
  await gateway.stop()
  return { mb, heapMb, startMs: Number(gateway.ready.split(' ')[1]) }
}

/** Accounts and keys in bulk, numbered from `from`, past the core: a hash takes the place of the unknown secret. */
async function fillWithKeys(
  url: string,
  { keys, perAccount, from }: { readonly keys: number; readonly perAccount: number; readonly from: number },
): Promise<void> {
  const client = createClient({ url, concurrency: 1 })
  const first = 1000 + from
  const count = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)`
  const account = `'acct_' || printf('%032x', i / ${perAccount} + ${first})`
  const pool = `'pool_' || printf('%032x', i + ${first})`
  await client.batch(
    [
      {
        sql: `${count} INSERT INTO accounts (id, user_id, credit, created_at)
          SELECT 'acct_' || printf('%032x', i + ${first}), 'user-' || (i + ${first}), 2000000, 1790000000000 FROM n`,
        args: [keys / perAccount],
      },
      { sql: `${count} INSERT INTO pools (id, account_id) SELECT ${pool}, ${account} FROM n`, args: [keys] },
      {
        sql: `${count} INSERT INTO keys (id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints,
            allowed_models, created_at, last_used_at)
          SELECT 'key_' || printf('%032x', i + ${first}), ${account}, ${pool}, lower(hex(randomblob(32))),
            'gwk_' || printf('%04x', i % 65536), printf('%04x', i % 65521), 'key ' || i, '[]', '[]', '[]', 1790000000000,
            1790000000000 + i FROM n`,
        args: [keys],
      },
    ],
    'write',
  )
  client.close()
}

export function describeMemory({ oneKeyMb, oneKeyHeapMb, oneKeyStartMs, loads }: MemoryResult): string {
  return table(
    ['In the database', 'RSS MB', 'more than one key', 'of it JS heap MB', 'start ms'],
    [
      ['1 key', oneKeyMb.toFixed(0), '', oneKeyHeapMb.toFixed(0), oneKeyStartMs],
      ...loads.map((load) => [
        load.name,
        load.residentMb.toFixed(0),
        `${load.addedMb.toFixed(0)} MB`,
        load.heapMb.toFixed(0),
        load.startMs,
      ]),
    ],
  )
}
