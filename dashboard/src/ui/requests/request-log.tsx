import { type ReactNode, useState } from 'react'
import { operationLabel, REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
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
        rowClass={() => 'relative hover:bg-sunken'}
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
    { id: 'operation', card: 'title', head: columns.operation, cell: (row) => <Called row={row} onOpen={open} /> },
    { id: 'status', card: 'aside', head: columns.status, cell: (row) => <StatusBadge {...row} /> },
    ...long,
    { id: 'cost', head: columns.cost, numeric: true, cell: requestCost },
    { id: 'latency', card: 'none', head: columns.latency, numeric: true, cell: (row) => TEXT.latency(row.latency_ms) },
  ]
}

/** The operation of a request and, for model calls, the model: a button that reaches over its whole row. */
function Called({ row, onOpen }: { row: RequestRow; onOpen: (row: RequestRow) => void }) {
  const { operation, model, at } = row
  return (
    <button
      type="button"
      className="rounded-md text-left after:absolute after:inset-0 hover:underline"
      onClick={() => onOpen(row)}
    >
      {operationLabel(operation)}
      {model !== null && <span className="code block text-muted wrap-anywhere">{model}</span>}
      <span className="sr-only"> {TEXT.detailsOf(formatDateTime(at))}</span>
    </button>
  )
}

function tokenWords({ input_tokens: input, output_tokens: output }: RequestRow): string {
  return input + output === 0 ? '-' : TEXT.tokens(shortCount(input), shortCount(output))
}
