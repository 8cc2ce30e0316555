import { sql } from 'drizzle-orm'
import type { Journal } from '../../server/core/ledger/journal'
import { openFaulty } from '../adapters/stores/faulty-writes'
import { openTestStores, type TestStores } from '../support/ledger-parts'
import { type JournalUnderTest, journalContract, judgingJournalContract } from './journal.contract'

interface Drained extends Journal {
  drained(): Promise<void>
}

function underTest(stores: TestStores, journal: Drained): JournalUnderTest {
  const one = async (query: ReturnType<typeof sql>) => {
    await stores.applied()
    return (await stores.db.all<Record<string, number>>(query))[0] ?? null
  }
  return {
    journal,
    drained: () => journal.drained(),
    close: () => stores.close(),
    async account(id) {
      const row = await one(sql`SELECT credit, paid,
        (SELECT sum(iif(credit LIKE ${`${id}/%`}, amount, -amount)) FROM entries WHERE account_id = ${id}) AS entries
        FROM accounts WHERE id = ${id}`)
      return row && { credit: Number(row['credit']), paid: Number(row['paid']), entries: Number(row['entries']) }
    },
    async spent(pool) {
      return Number((await one(sql`SELECT spent FROM pools WHERE id = ${pool}`))?.['spent'])
    },
    async logged(id) {
      const row = await one(sql`SELECT status, cost FROM requests WHERE id = ${id}`)
      return row && { status: Number(row['status']), cost: Number(row['cost']) }
    },
    pool: async (account) => (await stores.key(account)).poolId,
  }
}

async function behindLog() {
  const stores = await openTestStores()
  return underTest(stores, stores.journal)
}
/** As for a database behind a network. */
async function direct() {
  const parts = await openFaulty()
  return underTest(parts, parts.journal)
}

journalContract('libSQL behind a log', behindLog)
journalContract('libSQL group commit', direct)
judgingJournalContract('libSQL group commit', direct)
