import { expect, test } from 'bun:test'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { openDatabase } from '../../../server/adapters/stores/libsql/open-database'
import { endTestDatabase, testDatabase } from '../../support/databases/test-database'
import { NOON } from '../../support/ledger-parts'
import { TEST_THREADS } from '../../support/test-threads'

const WRITES = 12
const WRITE_BYTES = 1_000_000

/** How many bytes of what was written are in the file itself. */
async function checkpointed(isReplicated: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-checkpoints-'))
  const opened = new Opened()
  const fail = (...said: string[]) => {
    throw new Error(said.join(': '))
  }
  try {
    const file = join(folder, 'gateway.db')
    const options = { url: await testDatabase(folder, file), authToken: null, isSyncPromised: true }
    const rest = { clock: { now: () => NOON }, threads: TEST_THREADS, onFatal: fail, onTrouble: fail, isReplicated }
    const { writes } = await openDatabase({ ...options, ...rest }, opened)
    const before = (await stat(file)).size
    await writes.batch([{ sql: 'CREATE TABLE filler (bytes)', args: [] }])
    for (let i = 0; i < WRITES; i++)
      await writes.batch([{ sql: 'INSERT INTO filler VALUES (zeroblob(?))', args: [WRITE_BYTES] }])
    return (await stat(file)).size - before
  } finally {
    await opened.close()
    await endTestDatabase(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

test('the writer empties its log into the file as it grows', async () => {
  expect(await checkpointed(false)).toBeGreaterThan((WRITES / 2) * WRITE_BYTES)
})

test('the writer makes no checkpoint where Litestream makes them all', async () => {
  expect(await checkpointed(true)).toBe(0)
})
