import type { Notice } from '../../api/notices.ts'
import { NOTICE_TEXT as TEXT } from '../../messages/notices.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { balanceUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table, type TableState } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'

const { columns: HEADS } = TEXT

const COLUMNS: readonly Column<Notice>[] = [
  { id: 'what', head: HEADS.what, cell: (notice) => <What notice={notice} /> },
  { id: 'about', head: HEADS.about, name: true, cell: (notice) => <Name wide>{detailOf(notice)}</Name> },
  { id: 'at', card: 'aside', head: HEADS.at, cell: ({ timestamp }) => <TimeAgo at={timestamp} /> },
]

/** The notices; cards on a phone. */
export function NoticesTable({ state }: { state: TableState<Notice> }) {
  return (
    <Table
      caption={TEXT.table}
      columns={COLUMNS}
      state={state}
      rowKey={({ id }) => id}
      empty={<Empty>{TEXT.none}</Empty>}
    />
  )
}

function What({ notice: { type, read } }: { notice: Notice }) {
  return (
    <span className="flex flex-wrap items-center gap-2 font-medium sm:flex-nowrap sm:whitespace-nowrap">
      {TEXT.events[type] ?? type}
      {!read && <Badge tone="accent">{TEXT.unread}</Badge>}
    </span>
  )
}

/** The subject of the notice: the percentage of a limit, the name of a key, tier, operation, host or upstream, an address, or an amount. */
function detailOf({ data }: Notice): string {
  const read = (name: string): unknown => Reflect.get(data, name)
  const percent = read('percent')
  if (typeof percent === 'number') return TEXT.percentUsed(percent)
  const names = ['name', 'tier', 'status', 'host', 'operation', 'upstream', 'user', 'client_id', 'ip'].map(read)
  const named = names.find((one): one is string => typeof one === 'string')
  if (named !== undefined) return named
  const amount = read('amount_micros_usd') ?? read('balance_micros_usd')
  return typeof amount === 'number' ? balanceUsd(amount) : '-'
}
