import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { LibsqlPaymentClaims } from '../../server/adapters/stores/libsql/payment-claims'
import { openTestStores } from '../support/ledger-parts'
import { claimStoreContract } from './claim-store.contract'

// The second store has a connection of its own, as another process on the database would.
claimStoreContract('libSQL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-claims-'))
  let stores = await openTestStores({ folder })
  const client = createClient({ url: `file:${stores.file}`, timeout: 5000 })
  return {
    one: stores.paymentClaims,
    other: new LibsqlPaymentClaims(drizzle({ client })),
    async paymentEntries() {
      const { rows } = await client.execute("SELECT reference, amount FROM entries WHERE kind = 'payment'")
      return rows.map((row) => ({ reference: String(row['reference']), amount: Number(row['amount']) }))
    },
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.paymentClaims
    },
    async close() {
      client.close()
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
