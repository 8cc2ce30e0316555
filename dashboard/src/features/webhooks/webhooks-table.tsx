import type { Webhook } from '../../api/webhooks.ts'
import { WEBHOOK_TEXT as TEXT } from '../../messages/webhooks.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { grouped } from '../../ui/format/money.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table, type TableState } from '../../ui/layout/table.tsx'
import { MoreMenu } from '../../ui/menus/more-menu.tsx'

export type WebhookAction = 'confirm' | 'test' | 'log' | 'toggle' | 'rotate' | 'remove'
type OnAction = (action: WebhookAction, webhook: Webhook) => void

/** The endpoints with their health; cards on a phone. */
export function WebhooksTable({ state, onAction }: { state: TableState<Webhook>; onAction: OnAction }) {
  const { columns } = TEXT
  const all: readonly Column<Webhook>[] = [
    { id: 'url', head: columns.url, cell: (webhook) => <Target webhook={webhook} /> },
    { id: 'events', head: columns.events, cell: eventsOf },
    { id: 'status', card: 'aside', head: columns.status, cell: (webhook) => <Health webhook={webhook} /> },
    { id: 'created', head: columns.created, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
    {
      id: 'actions',
      card: 'below',
      head: columns.actions,
      silent: true,
      numeric: true,
      cell: (webhook) => <RowActions webhook={webhook} onAction={onAction} />,
    },
  ]
  return (
    <Table
      caption={TEXT.table}
      columns={all}
      state={state}
      rowKey={({ id }) => id}
      textOf={({ url }) => url}
      empty={<Empty>{TEXT.none}</Empty>}
    />
  )
}

function Target({ webhook: { url, created_by: app, dropped_events: dropped } }: { webhook: Webhook }) {
  return (
    <span className="wrap-anywhere">
      <span className="code">{url}</span>
      {app && <span className="small text-muted block">{TEXT.madeBy(app.name)}</span>}
      {dropped > 0 && <span className="small text-muted block">{TEXT.dropped(grouped(dropped))}</span>}
    </span>
  )
}

function Health({ webhook: { status, failing_since: failing } }: { webhook: Webhook }) {
  if (status === 'paused') return <Badge>{TEXT.paused}</Badge>
  if (status === 'unconfirmed') return <Badge tone="warn">{TEXT.unconfirmed}</Badge>
  return failing === null ? <Badge tone="ok">{TEXT.active}</Badge> : <Badge tone="bad">{TEXT.failing}</Badge>
}

function RowActions({ webhook, onAction }: { webhook: Webhook; onAction: OnAction }) {
  const { status, failing_since: failing } = webhook
  const tests = status === 'active' ? [TEXT.test] : status === 'paused' && failing !== null ? [TEXT.testToResume] : []
  const does = (action: WebhookAction) => () => onAction(action, webhook)
  return (
    <div className="flex flex-wrap justify-end gap-2">
      {webhook.status === 'unconfirmed' && (
        <Button aria-label={`${TEXT.confirm}: ${webhook.url}`} onClick={does('confirm')}>
          {TEXT.confirm}
        </Button>
      )}
      <Button aria-label={`${TEXT.log}: ${webhook.url}`} onClick={does('log')}>
        {TEXT.log}
      </Button>
      <MoreMenu
        label={TEXT.more(webhook.url)}
        entries={[
          ...tests.map((label) => ({ kind: 'action' as const, label, onSelect: does('test') })),
          {
            kind: 'action',
            label: webhook.status === 'paused' ? TEXT.resume : TEXT.pause,
            onSelect: does('toggle'),
          },
          { kind: 'action', label: TEXT.rotate, onSelect: does('rotate') },
          { kind: 'action', label: TEXT.remove, danger: true, onSelect: does('remove') },
        ]}
      />
    </div>
  )
}

function eventsOf({ events }: Webhook): string {
  return events.length === 0 ? TEXT.all : events.join(', ')
}
