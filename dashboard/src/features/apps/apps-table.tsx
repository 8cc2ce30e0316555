import type { ConnectedApp } from '../../api/apps.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { costUsd } from '../../ui/money.ts'
import { Empty } from '../../ui/states.tsx'
import { type Column, Table, type TableState } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'

export type AppAct = { readonly kind: 'disconnect' | 'limit'; readonly app: ConnectedApp }

/** Who has access, what it may do, and what it did; on a phone one card each. */
export function AppsTable({ state, onAct }: { state: TableState<ConnectedApp>; onAct: (act: AppAct) => void }) {
  return (
    <Table
      caption={TEXT.table}
      columns={columnsOf(onAct)}
      state={state}
      rowKey={({ client_id: id }) => id}
      empty={<Empty>{TEXT.none}</Empty>}
      card={(app) => <AppCard app={app} onAct={onAct} />}
    />
  )
}

function columnsOf(onAct: (act: AppAct) => void): readonly Column<ConnectedApp>[] {
  const { columns } = TEXT
  return [
    { id: 'name', head: columns.name, cell: (app) => <AppName app={app} /> },
    { id: 'access', head: columns.access, cell: (app) => accessOf(app) },
    { id: 'used', head: columns.used, cell: (app) => <TimeAgo at={app.last_used_at} /> },
    { id: 'ip', head: columns.ip, cell: (app) => <span className="code">{app.last_ip ?? '-'}</span> },
    { id: 'spent', head: columns.spent, numeric: true, cell: (app) => costUsd(app.spent_micros_usd) },
    { id: 'limit', head: columns.limit, numeric: true, cell: (app) => limitOf(app) },
    { id: 'acts', head: columns.acts, silent: true, numeric: true, cell: (app) => <Acts app={app} onAct={onAct} /> },
  ]
}

function AppName({ app }: { app: ConnectedApp }) {
  return (
    <div className="grid justify-items-start gap-1">
      <span className="font-medium wrap-anywhere">{app.name}</span>
      <Badge tone={app.first_party ? 'ok' : 'warn'}>{app.first_party ? TEXT.ours : TEXT.notChecked}</Badge>
    </div>
  )
}

function Acts({ app, onAct }: { app: ConnectedApp; onAct: (act: AppAct) => void }) {
  return (
    <div className="flex flex-wrap justify-end gap-2">
      <Button aria-label={`${TEXT.setLimit}: ${app.name}`} onClick={() => onAct({ kind: 'limit', app })}>
        {TEXT.setLimit}
      </Button>
      <Button aria-label={`${TEXT.disconnect}: ${app.name}`} onClick={() => onAct({ kind: 'disconnect', app })}>
        {TEXT.disconnect}
      </Button>
    </div>
  )
}

function AppCard({ app, onAct }: { app: ConnectedApp; onAct: (act: AppAct) => void }) {
  const { columns } = TEXT
  const facts = [
    [columns.access, accessOf(app)],
    [columns.used, <TimeAgo key="used" at={app.last_used_at} />],
    [columns.ip, app.last_ip ?? '-'],
    [columns.spent, costUsd(app.spent_micros_usd)],
    [columns.limit, limitOf(app)],
  ] as const
  return (
    <div className="grid gap-3">
      <AppName app={app} />
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="text-right">{value}</dd>
          </div>
        ))}
      </dl>
      <Acts app={app} onAct={onAct} />
    </div>
  )
}

function accessOf({ scopes }: ConnectedApp): string {
  return scopes.map((scope) => TEXT.access[scope] ?? scope).join(', ')
}

function limitOf({ spending_limit: limit }: ConnectedApp): string {
  return limit === null ? TEXT.unlimited : `$${limit}`
}
