import { type ApiDetails, liftClosing } from '../../../api/apis.ts'
import { failureFrom } from '../../../api/client/failure.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { Button } from '../../../ui/button.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { formatDateTime } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { staticRows, Table } from '../../../ui/layout/table.tsx'
import { useOperatorAction } from '../action-form.tsx'

const { closedColumns: HEADS } = TEXT

/** The operations that are closed to accounts, because the upstream claimed too much. Each can be opened again. */
export function ClosedTable({ api }: { api: ApiDetails }) {
  const lifting = useOperatorAction(
    ({ operation, account }: Closed) => liftClosing(api.name, { operation, account }),
    ({ operation }) => TEXT.lifted(operation),
    () => undefined,
  )
  const lift = (closed: Closed) => (
    <Button
      aria-label={`${TEXT.lift}: ${closed.operation}, ${closed.account}`}
      busy={lifting.isPending}
      onClick={() => lifting.mutate(closed)}
    >
      {TEXT.lift}
    </Button>
  )
  return (
    <Card title={TEXT.closed} flush>
      <p className="px-4 pb-3 text-muted sm:px-6">{TEXT.closedText}</p>
      <FormFailure failure={failureFrom(lifting)} />
      <Table
        caption={TEXT.closedTable}
        columns={[
          { id: 'operation', head: HEADS.operation, cell: ({ operation }) => operation },
          { id: 'account', head: HEADS.account, cell: ({ account }) => <span className="code">{account}</span> },
          { id: 'at', head: HEADS.at, cell: ({ at }) => formatDateTime(at) },
          { id: 'act', card: 'below', head: HEADS.act, silent: true, numeric: true, cell: lift },
        ]}
        rowKey={({ operation, account }) => `${operation} ${account}`}
        textOf={({ operation, account }) => `${operation} ${account}`}
        state={staticRows(api.closed)}
        empty={null}
      />
    </Card>
  )
}

type Closed = ApiDetails['closed'][number]
