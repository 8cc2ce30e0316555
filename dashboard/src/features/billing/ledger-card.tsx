import { useInfiniteQuery } from '@tanstack/react-query'
import { ledgerQuery } from '../../api/billing/billing.ts'
import { listState } from '../../api/client/list-state.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { LedgerTable } from '../../ui/requests/ledger-table.tsx'

/** All transactions of the account, newest first. */
export function LedgerCard() {
  const found = useInfiniteQuery(ledgerQuery)
  return (
    <Card
      title={TEXT.ledger}
      flush
      aside={
        <a href="/api/transactions.csv" download className={buttonClass()}>
          {TEXT.csv}
        </a>
      }
    >
      <LedgerTable
        state={{ rows: found.data?.pages.flatMap(({ transactions }) => transactions), ...listState(found) }}
      />
    </Card>
  )
}
