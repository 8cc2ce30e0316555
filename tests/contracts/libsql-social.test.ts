import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { apiKey, audit, openTestStores } from '../support/ledger-parts'
import { socialStoreContract } from './social-store.contract'

socialStoreContract('libSQL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-social-'))
  let stores = await openTestStores({ folder })
  return {
    store: stores.social,
    async key(beside) {
      const key = apiKey(beside?.accountId ?? (await stores.account()))
      await stores.credentials.create(key, { limit: null, budgets: [] }, audit())
      return key
    },
    end: (key, how) => stores.credentials.update({ key: { ...key, ...how } }, audit()),
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.social
    },
    async close() {
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
