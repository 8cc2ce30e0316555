import { sql } from 'drizzle-orm'
import { openTestStores } from '../support/ledger-parts'
import { journalContract } from './journal.contract'

journalContract('libSQL group commit', async () => {
  const stores = await openTestStores()
  const one = async (query: ReturnType<typeof sql>) => (await stores.db.all<Record<string, number>>(query))[0] ?? null
  return {
    journal: stores.journal,
    drained: () => stores.journal.drained(),
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
})
