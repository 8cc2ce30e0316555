import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { appended } from '../../server/core/ledger/journal'
import { charge, openTestStores } from '../support/ledger-parts'
import { credentialStoreContract } from './credential-store.contract'

credentialStoreContract('libSQL, written through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-credentials-'))
  let stores = await openTestStores({ folder })
  const one = async (query: ReturnType<typeof sql>) => {
    await stores.applied()
    return (await stores.db.all<Record<string, unknown>>(query))[0] ?? null
  }
  return {
    store: stores.credentials,
    account: () => stores.account(),
    async pool(id) {
      const row = await one(sql`SELECT spending_limit, spent FROM pools WHERE id = ${id}`)
      if (!row) return null
      return { limit: row['spending_limit'] as number | null, spent: Number(row['spent']) }
    },
    async spend(account, pool, amount) {
      const outcome = await appended(stores.journal, charge(account, amount, { pool }))
      if (outcome.kind !== 'committed') throw new Error(outcome.kind)
    },
    audited: async (action) =>
      Number((await one(sql`SELECT count(*) AS n FROM audit_log WHERE action = ${action}`))?.['n']),
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.credentials
    },
    async close() {
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
