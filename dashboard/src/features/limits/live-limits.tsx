import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { liveLimitsQuery } from '../../api/billing/limits.ts'
import { listState } from '../../api/client/list-state.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { useDebounced } from '../../ui/browser/use-debounced.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Meter } from '../../ui/charts/meter.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped, shortCount } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { SearchBox } from '../../ui/layout/search-box.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'

type Live = NonNullable<ReturnType<typeof useLiveLimits>['data']>['pages'][number]['keys'][number]

const { columns: HEADS } = TEXT

const COLUMNS: readonly Column<Live>[] = [
  { id: 'key', head: HEADS.key, name: true, cell: ({ name }) => <Name wide>{name}</Name> },
  {
    id: 'rpm',
    head: HEADS.rpm,
    cell: ({ name, requests }) => <Reading of={name} what={HEADS.rpm} reading={requests} />,
  },
  { id: 'tpm', head: HEADS.tpm, cell: ({ name, tokens }) => <Reading of={name} what={HEADS.tpm} reading={tokens} /> },
  {
    id: 'concurrency',
    head: HEADS.concurrency,
    cell: ({ name, concurrency }) => <Reading of={name} what={HEADS.concurrency} reading={concurrency} />,
  },
  { id: 'reset', head: HEADS.reset, numeric: true, cell: ({ requests }) => <Resets at={requests.reset} /> },
]

function useLiveLimits(q: string) {
  return useInfiniteQuery(liveLimitsQuery(q))
}

/** The live usage of every key in the current minute. */
export function LiveLimits() {
  const [search, setSearch] = useState('')
  const limits = useLiveLimits(useDebounced(search))
  const rows = limits.data?.pages.flatMap(({ keys }) => keys)
  // A window that has ended counts as empty. No event announces it, so the clock is used.
  const reset = rows?.[0]?.requests.reset ?? 0
  useEffect(() => {
    if (reset === 0) return
    const timer = setTimeout(() => void limits.refetch(), Math.max(1000, reset * 1000 - Date.now() + 500))
    return () => clearTimeout(timer)
  }, [reset, limits.refetch])
  return (
    <Card title={TEXT.live} flush>
      <Table
        caption={TEXT.liveTable}
        columns={COLUMNS}
        tools={
          (search !== '' || limits.hasNextPage) && <SearchBox label={TEXT.search} value={search} onSearch={setSearch} />
        }
        rowKey={({ id }) => id}
        state={{
          rows,
          ...listState(limits),
        }}
        empty={
          <Empty
            action={
              <Link to="/keys" className={buttonClass()}>
                {TEXT.createKey}
              </Link>
            }
          >
            {TEXT.noKeys}
          </Empty>
        }
      />
    </Card>
  )
}

function Reading({ of, what, reading }: { of: string; what: string; reading: { limit: number; remaining: number } }) {
  const used = Math.max(0, reading.limit - reading.remaining)
  const text = TEXT.usedOf(grouped(used), grouped(reading.limit))
  return (
    <div className="grid min-w-28 gap-1" title={text}>
      <span>{TEXT.usedOf(shortCount(used), shortCount(reading.limit))}</span>
      <Meter label={`${what}, ${of}`} used={used} max={reading.limit} text={text} />
    </div>
  )
}

function Resets({ at }: { at: number }) {
  const [left, setLeft] = useState(() => secondsTo(at))
  useEffect(() => {
    setLeft(secondsTo(at))
    const timer = setInterval(() => setLeft(secondsTo(at)), 1000)
    return () => clearInterval(timer)
  }, [at])
  return <span className="text-muted">{TEXT.resetIn(left)}</span>
}

function secondsTo(at: number): number {
  return Math.max(0, Math.ceil(at - Date.now() / 1000))
}
