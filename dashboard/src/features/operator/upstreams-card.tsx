import { useQuery } from '@tanstack/react-query'
import { listState } from '../../api/client/list-state.ts'
import { type UpstreamLine, upstreamsQuery } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { formatDateTime, TimeAgo, useNow } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

const { upstreamColumns: HEADS } = TEXT
const TONES: Record<UpstreamLine['breaker'], Tone> = { closed: 'ok', open: 'bad', probing: 'warn' }
const MAX_NAMED = 3

/** The model upstreams: status, failures, since when they fail, and the next attempt. */
export function UpstreamsCard() {
  const upstreams = useQuery(upstreamsQuery)
  const columns: readonly Column<UpstreamLine>[] = [
    { id: 'name', head: HEADS.name, cell: (line) => <Name {...line} /> },
    { id: 'state', card: 'aside', head: HEADS.state, cell: (line) => <State {...line} /> },
    { id: 'failures', head: HEADS.failures, numeric: true, cell: ({ failures }) => grouped(failures) },
    { id: 'since', head: HEADS.since, cell: ({ failing_since: at }) => (at === null ? '-' : <TimeAgo at={at} />) },
    { id: 'next', head: HEADS.next, cell: (line) => <NextTry {...line} /> },
    { id: 'underWay', head: HEADS.underWay, numeric: true, cell: ({ under_way: count }) => grouped(count) },
  ]
  return (
    <Card title={TEXT.upstreams} flush>
      <Table
        caption={TEXT.upstreamTable}
        columns={columns}
        rowKey={({ name }) => name}
        textOf={({ name }) => name}
        state={{
          rows: upstreams.data?.upstreams,
          ...listState(upstreams),
        }}
        empty={<Empty>{TEXT.noUpstreams}</Empty>}
      />
    </Card>
  )
}

function Name({ name, models }: UpstreamLine) {
  const named = models.slice(0, MAX_NAMED)
  return (
    <>
      <span className="font-medium wrap-anywhere">{name}</span>
      <span className="small block text-muted wrap-anywhere" title={models.join(', ')}>
        {TEXT.serves(named.join(', '), models.length - named.length)}
      </span>
    </>
  )
}

function State({ breaker }: UpstreamLine) {
  return <Badge tone={TONES[breaker]}>{TEXT.breakers[breaker]}</Badge>
}

function NextTry({ next_try_at: at, breaker }: UpstreamLine) {
  const now = useNow()
  if (at === null) return '-'
  return breaker === 'probing' || Date.parse(at) <= now ? TEXT.nextCall : TEXT.nextTryOf(formatDateTime(at))
}
