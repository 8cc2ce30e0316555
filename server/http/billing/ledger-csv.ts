import { isoTime } from '../../core/clock'
import type { AccountStatements } from '../../core/ledger/account-statement'
import { formatUsd } from '../../core/money'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { csvFile, csvLine, paced } from '../middleware/response/csv'
import { documented } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { costing, EXPORT } from '../routing/cost'
import { BILLING_DOCS } from './docs'

const HEAD = ['time_utc', 'transaction_id', 'kind', 'description', 'amount_usd', 'balance_after_usd', 'request_id']
const PAGE = 200

/** The transactions of an account as a CSV file. */
export function ledgerCsvRoutes({ owners, statements }: { owners: OwnerSessions; statements: AccountStatements }) {
  return routeGroup({ name: 'ledger-csv' }).get(
    '/api/transactions.csv',
    ...allowed(
      signedIn(owners, 'money:read'),
      costing(EXPORT, documented(BILLING_DOCS.ledgerCsv)),
      ({ accountId, context }) => {
        return csvFile(
          context,
          'ledger.csv',
          HEAD,
          paced(context, (cursor) => statements.transactions(accountId, PAGE, cursor)),
          (row) =>
            csvLine([
              isoTime(row.at),
              row.id,
              row.kind,
              row.description,
              Number(formatUsd(row.amount)),
              Number(formatUsd(row.balanceAfter)),
              row.requestId,
            ]),
        )
      },
    ),
  )
}
