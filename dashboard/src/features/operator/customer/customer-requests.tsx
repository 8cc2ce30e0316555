import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { listState } from '../../../api/client/list-state.ts'
import { type CustomerCall, customerRequestsQuery } from '../../../api/customer.ts'
import { CUSTOMER_TEXT as TEXT } from '../../../messages/customer.ts'
import { operationLabel } from '../../../messages/requests.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { Select } from '../../../ui/field.tsx'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { Name } from '../../../ui/name.tsx'
import { requestCost } from '../../../ui/requests/request-row.tsx'
import { Two } from './two-lines.tsx'

const { requestColumns: HEADS } = TEXT
const TONES = { served: 'ok', refused: 'warn', failed: 'bad' } as const

/** The calls of a customer with their outcome in words; on request only those that got a 402. */
export function RequestsCard({ id }: { id: string }) {
  const [status, setStatus] = useState('')
  const calls = useInfiniteQuery(customerRequestsQuery(id, status === '' ? undefined : Number(status)))
  const columns: readonly Column<CustomerCall>[] = [
    { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
    {
      id: 'operation',
      card: 'title',
      head: HEADS.operation,
      cell: ({ operation, model }) => <Two first={operationLabel(operation)} second={model} />,
    },
    { id: 'key', head: HEADS.key, cell: (call) => <Name>{callerName(call)}</Name> },
    { id: 'outcome', card: 'below', head: HEADS.outcome, cell: (call) => <Outcome call={call} /> },
    { id: 'cost', card: 'aside', head: HEADS.cost, numeric: true, cell: requestCost },
    {
      id: 'id',
      head: HEADS.id,
      cell: ({ id: request, ip }) => <Two first={<span className="code">{request}</span>} second={ip} />,
    },
  ]
  return (
    <Card title={TEXT.requests} flush>
      <Table
        caption={TEXT.table(TEXT.requests)}
        columns={columns}
        tools={
          <Select
            label={TEXT.requestFilter}
            options={TEXT.requestFilters}
            value={status}
            onChange={({ target }) => setStatus(target.value)}
          />
        }
        rowKey={({ id: request }) => request}
        state={{ rows: calls.data?.pages.flatMap(({ requests }) => requests), ...listState(calls) }}
        empty={<Empty>{status === '' ? TEXT.noRequests : TEXT.noneWithStatus}</Empty>}
      />
    </Card>
  )
}

function callerName({ key_id: id, key_name: name }: CustomerCall): string {
  if (name === null) return id
  return id.startsWith('conn_') ? TEXT.app(name) : name
}

function Outcome({ call: { status, outcome, reason } }: { call: CustomerCall }) {
  return (
    <span className="grid max-w-md min-w-40 justify-items-start gap-1">
      <Badge tone={TONES[outcome]}>{`${TEXT.outcomes[outcome]} · ${status}`}</Badge>
      {reason && <span className="small wrap-anywhere">{reason}</span>}
    </span>
  )
}
