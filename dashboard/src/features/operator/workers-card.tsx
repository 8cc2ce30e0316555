import { useQuery } from '@tanstack/react-query'
import { listState } from '../../api/client/list-state.ts'
import { type WorkerLine, workersQuery } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const { workerColumns: HEADS } = TEXT

const COLUMNS: readonly Column<WorkerLine>[] = [
  { id: 'name', head: HEADS.name, cell: ({ name }) => <span className="font-medium wrap-anywhere">{name}</span> },
  {
    id: 'state',
    card: 'aside',
    head: HEADS.state,
    cell: ({ connected }) => <Badge tone={connected ? 'ok' : 'bad'}>{TEXT.workerStates(connected)}</Badge>,
  },
  { id: 'process', head: HEADS.process, numeric: true, cell: ({ pid }) => pid ?? '-' },
  { id: 'version', head: HEADS.version, cell: ({ version }) => version ?? '-' },
  { id: 'calls', head: HEADS.calls, numeric: true, cell: ({ open_calls: calls }) => grouped(calls) },
  { id: 'cpu', head: HEADS.cpu, numeric: true, cell: ({ cpu_percent: cpu }) => (cpu === null ? '-' : `${cpu} %`) },
  { id: 'since', head: HEADS.since, cell: ({ since }) => <TimeAgo at={since} /> },
]

/** The processes that serve calls for this one. Nothing where it serves all itself. */
export function WorkersCard() {
  const workers = useQuery(workersQuery)
  if (workers.data?.workers.length === 0) return null
  return (
    <Card title={TEXT.workers} flush>
      <Table
        caption={TEXT.workerTable}
        columns={COLUMNS}
        rowKey={({ instance }) => instance}
        textOf={({ name }) => name}
        state={{ rows: workers.data?.workers, ...listState(workers) }}
        empty={<Empty>{TEXT.noWorkers}</Empty>}
      />
    </Card>
  )
}
