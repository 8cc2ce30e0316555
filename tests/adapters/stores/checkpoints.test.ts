import { expect, test } from 'bun:test'
import { stat } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import { IS_SERVER } from '../../support/databases/test-database'
import { openTestStores } from '../../support/ledger-parts'

const WRITES = 12
const WRITE_BYTES = 1_000_000

/** How many bytes of what was written are in the file itself. */
async function checkpointed(isReplicated: boolean): Promise<number> {
  const { db, file, close } = await openTestStores({ isReplicated })
  try {
    const before = (await stat(file)).size
    await db.run(sql`CREATE TABLE filler (bytes)`)
    for (let i = 0; i < WRITES; i++) await db.run(sql`INSERT INTO filler VALUES (zeroblob(${WRITE_BYTES}))`)
    return (await stat(file)).size - before
  } finally {
    await close()
  }
}

test.skipIf(IS_SERVER)('the writer empties its log into the file as it grows', async () => {
  expect(await checkpointed(false)).toBeGreaterThan((WRITES / 2) * WRITE_BYTES)
})

test.skipIf(IS_SERVER)('the writer makes no checkpoint where Litestream makes them all', async () => {
  expect(await checkpointed(true)).toBe(0)
})
