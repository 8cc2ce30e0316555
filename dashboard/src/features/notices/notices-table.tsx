import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { keyNamesQuery } from '../../api/keys.ts'
import type { Notice } from '../../api/notices.ts'
import { NOTICE_TEXT as TEXT } from '../../messages/notices.ts'
import { Badge } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { balanceUsd, costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table, type TableState } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'

const { columns: HEADS } = TEXT

const COLUMNS: readonly Column<Notice>[] = [
  { id: 'what', head: HEADS.what, cell: (notice) => <What notice={notice} /> },
  { id: 'about', head: HEADS.about, name: true, cell: (notice) => <About notice={notice} /> },
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

/** What the notice is about: the key or app with a link, and a detail. */
function About({ notice }: { notice: Notice }) {
  const names = useQuery(keyNamesQuery).data?.names
  const { type, data } = notice
  const read = (name: string) => textIn(data, name)
  const id = read('key_id') ?? read('app_id') ?? (type.startsWith('key.') ? read('id') : undefined)
  const name = names?.find((one) => one.id === id)?.name
  const detail = detailOf(notice)
  if (id === undefined || name === undefined) return <Name wide>{detail}</Name>
  return (
    <span className="flex flex-wrap items-baseline gap-x-2">
      {id.startsWith('key_') ? (
        <Link to="/keys/$id" params={{ id }} className="min-w-0 font-medium wrap-anywhere underline">
          {name}
        </Link>
      ) : (
        <Name wide>{name}</Name>
      )}
      {detail !== name && <span>{detail}</span>}
    </span>
  )
}

function textIn(data: Notice['data'], name: string): string | undefined {
  const value: unknown = Reflect.get(data, name)
  return typeof value === 'string' ? value : undefined
}

/** The subject of the notice: the share of a limit or budget, the name of a key, tier, operation, host or upstream, an address, or an amount. */
function detailOf({ data }: Notice): string {
  const read = (name: string): unknown => Reflect.get(data, name)
  const isAlert = read('on') !== undefined
  const percent = read('percent')
  if (typeof percent === 'number' && !isAlert)
    return TEXT.percentUsed(percent, usdOf(read('limit_micros_usd')), textIn(data, 'period'))
  const reached = reachedWords(read)
  if (reached !== null) return reached
  const names = ['name', 'tier', 'status', 'host', 'operation', 'upstream', 'user', 'client_id', 'ip']
  const named = names.map((name) => textIn(data, name)).find((one) => one !== undefined)
  if (named !== undefined) return named
  const amount = read('amount_micros_usd') ?? read('balance_micros_usd')
  return typeof amount === 'number' ? balanceUsd(amount) : '-'
}

/** What an alert found; null for another notice. */
function reachedWords(read: (name: string) => unknown): string | null {
  const { reached } = TEXT.alerts
  switch (read('on')) {
    case 'spend_day':
      return reached.spend_day(usdOf(read('spent_micros_usd')))
    case 'balance':
      return reached.balance(usdOf(read('balance_micros_usd')))
    case 'failures_hour':
      return reached.failures_hour(`${read('percent')}%`)
    default:
      return null
  }
}

function usdOf(micros: unknown): string {
  return typeof micros === 'number' ? costUsd(micros) : '-'
}
