import { type ReactNode, useState } from 'react'
import { operationLabel, REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Button } from '../button.tsx'
import { lazyPart } from '../feedback/lazy-part.tsx'
import { shortCount } from '../format/money.ts'
import { ExactTime, formatDateTime } from '../format/time.tsx'
import { type Column, Table, type TableState } from '../layout/table.tsx'
import { Name } from '../name.tsx'
import { type RequestRow, requestCost, StatusBadge } from './request-row.tsx'

const RequestSheet = lazyPart(() => import('./request-sheet.tsx').then(({ RequestSheet }) => RequestSheet))

/** Requests, newest first. Each opens a side sheet with its details. */
export function RequestLog({ caption, state, keyLabel, short = false, empty }: RequestLogProps) {
  const [opened, setOpened] = useState<RequestRow | null>(null)
  return (
    <>
      <Table
        caption={caption}
        columns={columnsOf(keyLabel, short, setOpened)}
        state={state}
        rowKey={({ id }) => id}
        empty={empty}
      />
      {opened && <RequestSheet row={opened} keyLabel={keyLabel} onClose={() => setOpened(null)} />}
    </>
  )
}

type RequestLogProps = {
  caption: string
  state: TableState<RequestRow>
  keyLabel: (id: string) => string
  /** Without the tokens, IP and id columns. */
  short?: boolean
  empty: ReactNode
}

function columnsOf(
  keyLabel: (id: string) => string,
  short: boolean,
  open: (row: RequestRow) => void,
): readonly Column<RequestRow>[] {
  const { columns } = TEXT
  const long: readonly Column<RequestRow>[] = short
    ? []
    : [
        { id: 'tokens', card: 'none', head: columns.tokens, numeric: true, cell: tokenWords },
        {
          id: 'ip',
          card: 'none',
          head: columns.ip,
          cell: ({ ip }) => <span className="code whitespace-nowrap">{ip}</span>,
        },
      ]
  return [
    { id: 'at', head: columns.at, cell: ({ at }) => <ExactTime at={at} /> },
    { id: 'key', head: columns.key, cell: ({ key_id: id }) => <Name>{keyLabel(id)}</Name> },
    { id: 'operation', card: 'title', head: columns.operation, cell: (row) => <Called {...row} /> },
    { id: 'status', card: 'aside', head: columns.status, cell: (row) => <StatusBadge {...row} /> },
    ...long,
    { id: 'cost', head: columns.cost, numeric: true, cell: requestCost },
    { id: 'latency', card: 'none', head: columns.latency, numeric: true, cell: (row) => TEXT.latency(row.latency_ms) },
    { id: 'more', head: columns.more, silent: true, numeric: true, cell: (row) => <Opener row={row} onOpen={open} /> },
  ]
}

/** The operation of a request and, for model calls, the model. */
function Called({ operation, model }: Pick<RequestRow, 'operation' | 'model'>) {
  return (
    <>
      {operationLabel(operation)}
      {model !== null && <span className="code block text-muted wrap-anywhere">{model}</span>}
    </>
  )
}

function tokenWords({ input_tokens: input, output_tokens: output }: RequestRow): string {
  return input + output === 0 ? '-' : TEXT.tokens(shortCount(input), shortCount(output))
}

function Opener({ row, onOpen }: { row: RequestRow; onOpen: (row: RequestRow) => void }) {
  return (
    <Button tone="quiet" aria-label={TEXT.detailsOf(formatDateTime(row.at))} onClick={() => onOpen(row)}>
      {TEXT.details}
    </Button>
  )
}
