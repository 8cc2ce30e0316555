import type { ConnectedApp } from '../../api/account/apps.ts'
import { APP_TEXT as TEXT } from '../../messages/apps.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { costUsd } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table, type TableState } from '../../ui/layout/table.tsx'

export type AppAction = { readonly kind: 'disconnect' | 'limit'; readonly app: ConnectedApp }

/** The connected apps with their permissions and usage; cards on a phone. */
export function AppsTable({
  state,
  onAction,
}: {
  state: TableState<ConnectedApp>
  onAction: (act: AppAction) => void
}) {
  return (
    <Table
      caption={TEXT.table}
      columns={columnsOf(onAction)}
      state={state}
      rowKey={({ client_id: id }) => id}
      textOf={({ name }) => name}
      empty={<Empty>{TEXT.none}</Empty>}
    />
  )
}

function columnsOf(onAction: (act: AppAction) => void): readonly Column<ConnectedApp>[] {
  const { columns } = TEXT
  return [
    { id: 'name', head: columns.name, cell: (app) => <AppName app={app} /> },
    { id: 'access', head: columns.access, cell: (app) => accessOf(app) },
    { id: 'used', head: columns.used, cell: (app) => <TimeAgo at={app.last_used_at} /> },
    { id: 'ip', head: columns.ip, cell: (app) => <span className="code">{app.last_ip ?? '-'}</span> },
    { id: 'spent', head: columns.spent, numeric: true, cell: (app) => costUsd(app.spent_micros_usd) },
    { id: 'limit', head: columns.limit, numeric: true, cell: (app) => limitOf(app) },
    {
      id: 'actions',
      card: 'below',
      head: columns.actions,
      silent: true,
      numeric: true,
      cell: (app) => <RowActions app={app} onAction={onAction} />,
    },
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

function RowActions({ app, onAction }: { app: ConnectedApp; onAction: (act: AppAction) => void }) {
  return (
    <div className="flex flex-wrap justify-end gap-2">
      <Button aria-label={`${TEXT.setLimit}: ${app.name}`} onClick={() => onAction({ kind: 'limit', app })}>
        {TEXT.setLimit}
      </Button>
      <Button aria-label={`${TEXT.disconnect}: ${app.name}`} onClick={() => onAction({ kind: 'disconnect', app })}>
        {TEXT.disconnect}
      </Button>
    </div>
  )
}

function accessOf({ scopes }: ConnectedApp): string {
  return scopes.map((scope) => TEXT.access[scope] ?? scope).join(', ')
}

function limitOf({ spending_limit: limit }: ConnectedApp): string {
  return limit === null ? TEXT.unlimited : `$${limit}`
}
