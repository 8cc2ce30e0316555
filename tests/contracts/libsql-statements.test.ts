import { appended } from '../../server/core/ledger/journal'
import { call, openTestStores } from '../support/ledger-parts'
import { statementsContract } from './statements.contract'

statementsContract('libSQL', async () => {
  const stores = await openTestStores()
  return {
    statements: stores.statements,
    async append(record) {
      const outcome = await appended(stores.journal, record)
      if (outcome.kind !== 'committed') throw new Error(outcome.kind)
    },
    async foreignCursor(account) {
      for (let i = 0; i < 3; i++) stores.journal.note(call(account, null))
      await stores.journal.drained()
      const all = { accountId: account, keyId: null, operation: null, status: null, model: null, from: null, to: null }
      const next = (await stores.reports.requests(all, 1, null))?.next
      if (!next) throw new Error('one page only')
      return next
    },
    close: () => stores.close(),
  }
})
