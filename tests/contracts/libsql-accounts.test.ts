import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appended } from '../../server/core/ledger/journal'
import { NOON, opening, openTestStores } from '../support/ledger-parts'
import { accountStoreContract } from './account-store.contract'

accountStoreContract('libSQL, written through', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-accounts-'))
  let stores = await openTestStores({ folder })
  return {
    store: stores.accounts,
    async commit({ id, userId }) {
      await stores.directory.assign({ accountId: id, userId, mayBeOperator: false, createdAt: NOON })
      const outcome = await appended(stores.journal, opening(id, 5))
      if (outcome.kind !== 'committed') throw new Error(outcome.kind)
    },
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.accounts
    },
    async close() {
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})
