import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestStores } from '../support/ledger-parts'
import { priceStoreContract } from './price-store.contract'

priceStoreContract('libSQL, written through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-prices-'))
  let stores = await openTestStores({ folder })
  return {
    store: stores.prices,
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.prices
    },
    async close() {
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
