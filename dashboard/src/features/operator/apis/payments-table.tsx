import { useQuery } from '@tanstack/react-query'
import { apiReportQuery } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { costUsd, grouped } from '../../../ui/format/money.ts'
import { Card } from '../../../ui/layout/card.tsx'
import { staticRows, Table } from '../../../ui/layout/table.tsx'

const { paymentColumns: HEADS } = TEXT

/** The wallet's payments to the upstream of an API that is paid per request. */
export function PaymentsTable({ name }: { name: string }) {
  const { data } = useQuery(apiReportQuery)
  const paid = data?.apis.find((api) => api.name === name)?.upstream_payments ?? []
  const { wallet } = data ?? {}
  return (
    <Card title={TEXT.payments} flush>
      {wallet && (
        <p className="px-4 pb-3 text-muted sm:px-6">
          {TEXT.signed(costUsd(wallet.signed_micros_usd), costUsd(wallet.daily_maximum_micros_usd))}
        </p>
      )}
      <Table
        caption={TEXT.paymentsTable}
        columns={[
          { id: 'state', head: HEADS.state, cell: ({ state }) => TEXT.paymentStates[state] },
          { id: 'payments', head: HEADS.payments, numeric: true, cell: ({ payments }) => grouped(payments) },
          { id: 'sum', card: 'aside', head: HEADS.sum, numeric: true, cell: (row) => costUsd(row.cost_micros_usd) },
        ]}
        rowKey={({ state }) => state}
        state={staticRows(paid)}
        empty={TEXT.noPayments}
      />
    </Card>
  )
}
