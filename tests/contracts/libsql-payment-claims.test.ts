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
  const client = createClient({ url: stores.url, timeout: 5000 })
  return {
    one: stores.paymentClaims,
    other: new LibsqlPaymentClaims(drizzle({ client })),
    async paymentEntries() {
      const { rows } = await client.execute("SELECT reference, amount FROM entries WHERE kind = 'payment'")
      return rows.map((row) => ({ reference: String(row['reference']), amount: Number(row['amount']) }))
    },
    async fill(count, updatedAt) {
      await client.execute({
        sql: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
          INSERT INTO payments (id, key, purpose, operation, method, payer, amount, currency, binding, credential_hash,
            transaction_id, request_id, state, paid, lease_until, attempts, created_at, updated_at)
          SELECT 'fill ' || i, 'fill ' || i, 'call', 'image-search', 'tempo', '0x', 5000, '0x', '', '', '', '', 'released', 0, 0, 1, ?2, ?2 FROM n`,
        args: [count, updatedAt],
      })
      return stores.paymentClaims
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
