import { appended } from '../../server/core/ledger/journal'
import { charge, openTestStores } from '../support/ledger-parts'
import { chargeOf, usageReportsContract } from './usage-reports.contract'

usageReportsContract('libSQL', async () => {
  const stores = await openTestStores()
  const commit = async (record: Parameters<typeof stores.journal.append>[0]) => {
    const outcome = await appended(stores.journal, record)
    if (outcome.kind !== 'committed') throw new Error(`${outcome.kind}`)
  }
  return {
    reports: stores.reports,
    account: () => stores.account(),
    async write(calls) {
      const charged = calls.filter((record) => record.charged).map((record) => commit(chargeOf(record)))
      for (const record of calls) if (!record.charged) stores.journal.note(record)
      await Promise.all(charged)
      await stores.journal.drained()
    },
    async undo(record) {
      const [entry] = chargeOf(record).entries
      if (!entry) throw new Error('a charge has an entry')
      await commit({
        undoes: record,
        entries: [{ ...entry, kind: 'reversal', debit: entry.credit, credit: entry.debit }],
        change: { accountId: record.accountId, credit: entry.amount, paid: 0, toppedUp: 0 },
      })
    },
    async foreignCursor(account) {
      await commit(charge(account, 5, {}))
      const next = (await stores.statements.transactions(account, 1, null))?.next
      if (!next) throw new Error('one page only')
      return next
    },
    close: () => stores.close(),
  }
})
