import { useQuery } from '@tanstack/react-query'
import { toApiFailure } from '../../api/client/failure.ts'
import { type HealthReading, healthQuery } from '../../api/operator.ts'
import { OPERATOR_TEXT } from '../../messages/operator.ts'
import { Badge } from '../../ui/badge.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { formatDateTime } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'

const { health: TEXT } = OPERATOR_TEXT
const MAX_LISTED = 5

/** The calls of the last minutes: how many, what failed, which upstreams, and how far the books are behind. */
export function HealthCard() {
  const health = useQuery(healthQuery)
  const { data, error } = health
  return (
    <Card title={TEXT.title} aside={data && <Status {...data} />}>
      {data ? (
        <Reading {...data} />
      ) : error ? (
        <Failed failure={toApiFailure(error)} onRetry={() => void health.refetch()} />
      ) : (
        <Loading />
      )}
    </Card>
  )
}

function Status({ ready, tables_reject }: HealthReading) {
  if (!ready) return <Badge tone="bad">{TEXT.notReady}</Badge>
  return tables_reject ? <Badge tone="warn">{TEXT.rejecting}</Badge> : <Badge tone="ok">{TEXT.ready}</Badge>
}

function Reading({ calls, seconds, codes, upstreams, problems, backups, ...behind }: HealthReading) {
  return (
    <dl className="grid grid-cols-1 gap-x-8 gap-y-4 sm:grid-cols-2 lg:grid-cols-4">
      {problems.length > 0 && (
        <Fact name={TEXT.problems} lines={problems.map(({ part, reason }) => `${part}: ${reason}`)} />
      )}
      <Fact
        name={TEXT.calls}
        lines={[TEXT.rate(calls / seconds), TEXT.span(grouped(calls), Math.ceil(seconds / 60))]}
      />
      <Fact
        name={TEXT.codes}
        lines={codes.slice(0, MAX_LISTED).map(({ code, calls: count }) => `${code}: ${grouped(count)}`)}
      />
      <Fact
        name={TEXT.upstreams}
        lines={upstreams
          .slice(0, MAX_LISTED)
          .map(({ name, requests, failures, average_ms }) =>
            TEXT.upstream(name, grouped(requests), grouped(failures), grouped(average_ms)),
          )}
      />
      <Fact
        name={TEXT.behind}
        lines={[TEXT.commits(grouped(behind.commit_wait_ms)), TEXT.tables(grouped(behind.tables_behind_ms))]}
      />
      <Fact name={TEXT.backups} lines={backupLines(backups)} />
    </dl>
  )
}

function backupLines({ scheduled, newest_at: at, failing }: HealthReading['backups']): readonly string[] {
  return [
    ...(at === null ? [] : [formatDateTime(at)]),
    ...(failing ? [TEXT.backupFailed] : []),
    ...(scheduled ? [] : [TEXT.notScheduled]),
  ]
}

function Fact({ name, lines }: { name: string; lines: readonly string[] }) {
  return (
    <div className="grid min-w-0 content-start gap-1">
      <dt className="small text-muted">{name}</dt>
      {(lines.length > 0 ? lines : [TEXT.none]).map((line) => (
        <dd key={line} className="wrap-anywhere">
          {line}
        </dd>
      ))}
    </div>
  )
}
