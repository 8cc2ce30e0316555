import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { failureFrom } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import {
  actOnKey,
  type CustomerChange,
  type CustomerKey,
  type CustomerPayment,
  type CustomerRefund,
  customerAuditQuery,
  customerKeysQuery,
  customerPaymentsQuery,
  customerRefundsQuery,
  type KeyAction,
} from '../../../api/customer.ts'
import { isReplaced } from '../../../api/keys.ts'
import { auditAction } from '../../../messages/audit-actions.ts'
import { BILLING_TEXT, methodName } from '../../../messages/billing.ts'
import { CUSTOMER_TEXT as TEXT } from '../../../messages/customer.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Actor } from '../../../ui/actor.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { costUsd } from '../../../ui/format/money.ts'
import { formatDateTime, TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { MoreMenu } from '../../../ui/menus/more-menu.tsx'
import { useOperatorAction } from '../action-form.tsx'
import { Two } from './two-lines.tsx'

/** The keys of a customer. Revoking is confirmed, because no key comes back from it. */
export function CustomerKeysTable({ id, onRevoke }: { id: string; onRevoke: (key: CustomerKey) => void }) {
  const keys = useQuery(customerKeysQuery(id))
  const acting = useOperatorAction(
    ({ key, action }: { key: string; action: KeyAction }) => actOnKey(id, key, action),
    TEXT.keyDone,
    () => undefined,
  )
  const menu = (key: CustomerKey) => (
    <KeyMenu
      shown={key}
      onChoose={(action) => (action === 'revoke' ? onRevoke(key) : acting.mutate({ key: key.id, action }))}
    />
  )
  const columns: readonly Column<CustomerKey>[] = [
    {
      id: 'name',
      head: TEXT.keyColumns.name,
      cell: (key) => <Two first={key.name} second={`${key.prefix}…${key.last4}`} />,
    },
    {
      id: 'status',
      card: 'aside',
      head: TEXT.keyColumns.status,
      cell: (key) => (
        <Two
          first={TEXT.keyStates[key.status]}
          second={isReplaced(key) ? TEXT.keyUntil(formatDateTime(key.stops_at)) : null}
        />
      ),
    },
    {
      id: 'used',
      head: TEXT.keyColumns.used,
      cell: ({ last_used_at: at }) => (at === null ? TEXT.never : <TimeAgo at={at} />),
    },
    { id: 'act', head: TEXT.keyColumns.act, silent: true, numeric: true, cell: menu },
  ]
  return (
    <Card title={TEXT.keys} flush>
      <Table
        caption={TEXT.table(TEXT.keys)}
        columns={columns}
        rowKey={(key) => key.id}
        textOf={({ name, last4 }) => `${name} ${last4}`}
        state={{ rows: keys.data, ...listState(keys), ...(acting.error && { failure: failureFrom(acting) }) }}
        empty={<Empty>{TEXT.noKeys}</Empty>}
      />
    </Card>
  )
}

function KeyMenu({ shown, onChoose }: { shown: CustomerKey; onChoose: (action: KeyAction) => void }) {
  if (shown.status === 'revoked') return null
  const actions: readonly KeyAction[] = [shown.status === 'disabled' ? 'enable' : 'disable', 'revoke']
  return (
    <MoreMenu
      entries={actions.map((action) => ({
        kind: 'action',
        label: TEXT.keyActions[action],
        onSelect: () => onChoose(action),
      }))}
      label={UI_TEXT.actionsOf(shown.name)}
    />
  )
}

export function CustomerPaymentsTable({
  id,
  onRefund,
}: {
  id: string
  /** Null for support, which moves no money. */
  onRefund: ((payment: { id: string; amount: string }) => void) | null
}) {
  const payments = useInfiniteQuery(customerPaymentsQuery(id))
  const menu = (payment: CustomerPayment) =>
    onRefund && payment.method === 'card' && payment.state === 'served' ? (
      <MoreMenu
        entries={[
          {
            kind: 'action',
            label: TEXT.refund,
            onSelect: () => onRefund({ id: payment.id, amount: costUsd(payment.amount_micros_usd) }),
          },
        ]}
        label={UI_TEXT.actionsOf(payment.id)}
      />
    ) : null
  const columns: readonly Column<CustomerPayment>[] = [
    { id: 'at', head: TEXT.paymentColumns.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
    {
      id: 'method',
      card: 'title',
      head: TEXT.paymentColumns.method,
      cell: ({ method, id: payment }) => <Two first={methodName(method)} second={payment} />,
    },
    {
      id: 'state',
      head: TEXT.paymentColumns.state,
      cell: (payment) => <Two first={paymentState(payment)} second={payment.error} />,
    },
    {
      id: 'amount',
      card: 'aside',
      head: TEXT.paymentColumns.amount,
      numeric: true,
      cell: ({ amount_micros_usd: amount }) => costUsd(amount),
    },
    { id: 'act', head: TEXT.paymentColumns.act, silent: true, numeric: true, cell: menu },
  ]
  return (
    <Card title={TEXT.payments} flush>
      <Table
        caption={TEXT.table(TEXT.payments)}
        columns={columns}
        rowKey={(payment) => payment.id}
        state={{ rows: payments.data?.pages.flatMap(({ payments: rows }) => rows), ...listState(payments) }}
        empty={<Empty>{TEXT.noPayments}</Empty>}
      />
    </Card>
  )
}

function paymentState({ purpose, state }: CustomerPayment): string {
  return purpose === 'top_up' && state === 'served' ? TEXT.booked : BILLING_TEXT.paymentStates[state]
}

const REFUNDS: readonly Column<CustomerRefund>[] = [
  { id: 'at', head: TEXT.refundColumns.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
  {
    id: 'of',
    card: 'title',
    head: TEXT.refundColumns.of,
    cell: ({ payment }) => <span className="code">{payment}</span>,
  },
  {
    id: 'state',
    head: TEXT.refundColumns.state,
    cell: ({ state, error }) => <Two first={TEXT.refundStates[state]} second={error} />,
  },
  { id: 'note', head: TEXT.refundColumns.note, cell: ({ note }) => note },
  {
    id: 'amount',
    card: 'aside',
    head: TEXT.refundColumns.amount,
    numeric: true,
    cell: ({ amount_micros_usd: amount }) => costUsd(amount),
  },
]

/** Refunds of card payments. Not shown while there are none. */
export function RefundsTable({ id }: { id: string }) {
  const refunds = useInfiniteQuery(customerRefundsQuery(id))
  const rows = refunds.data?.pages.flatMap((page) => page.refunds)
  if (rows?.length === 0) return null
  return (
    <Card title={TEXT.refunds} flush>
      <Table
        caption={TEXT.table(TEXT.refunds)}
        columns={REFUNDS}
        rowKey={(refund) => refund.id ?? refund.payment}
        state={{ rows, ...listState(refunds) }}
        empty={null}
      />
    </Card>
  )
}

const CHANGES: readonly Column<CustomerChange>[] = [
  { id: 'at', card: 'aside', head: TEXT.auditColumns.at, cell: ({ at }) => <TimeAgo at={at} /> },
  {
    id: 'action',
    card: 'title',
    head: TEXT.auditColumns.action,
    cell: ({ action, key }) => <Two first={auditAction(action)} second={key} />,
  },
  {
    id: 'by',
    head: TEXT.auditColumns.by,
    cell: (change) => <Actor kind={change.by} id={change.actor} email={change.actor_email} />,
  },
  { id: 'ip', head: TEXT.auditColumns.ip, cell: ({ ip }) => ip ?? '-' },
]

export function ChangesTable({ id }: { id: string }) {
  const changes = useInfiniteQuery(customerAuditQuery(id))
  return (
    <Card title={TEXT.audit} flush>
      <Table
        caption={TEXT.table(TEXT.audit)}
        columns={CHANGES}
        rowKey={(change) => change.id}
        state={{ rows: changes.data?.pages.flatMap((page) => page.changes), ...listState(changes) }}
        empty={<Empty>{TEXT.noChanges}</Empty>}
      />
    </Card>
  )
}
