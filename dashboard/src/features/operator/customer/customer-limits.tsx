import { useInfiniteQuery } from '@tanstack/react-query'
import { listState } from '../../../api/client/list-state.ts'
import {
  type CustomerAdjustmentRow,
  type CustomerLimitRequest,
  customerAdjustmentsQuery,
  customerLimitsQuery,
} from '../../../api/customer.ts'
import { BILLING_TEXT } from '../../../messages/billing.ts'
import { CUSTOMER_TEXT as TEXT } from '../../../messages/customer.ts'
import { SHELL_TEXT } from '../../../messages/shell.ts'
import { Button } from '../../../ui/button.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { costUsd, grouped } from '../../../ui/format/money.ts'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { Two } from './two-lines.tsx'

const { limitRequestColumns: ASKED, adjustmentColumns: HEADS } = TEXT

const REQUESTS: readonly Column<CustomerLimitRequest>[] = [
  { id: 'at', card: 'aside', head: ASKED.at, cell: ({ created_at: at }) => <TimeAgo at={at} /> },
  { id: 'asked', card: 'title', head: ASKED.asked, cell: (row) => <Two first={askedFor(row)} second={row.use_case} /> },
  {
    id: 'status',
    head: ASKED.status,
    cell: ({ status, reason }) => <Two first={TEXT.limitRequestStates[status]} second={reason} />,
  },
]

function askedFor({ peak_rpm: rpm, peak_tpm: tpm }: CustomerLimitRequest): string {
  return TEXT.askedLimits(grouped(rpm), grouped(tpm))
}

/** The limits of a customer and its requests for higher ones. `onSet` is null for support. */
export function LimitsCard({ id, onSet }: { id: string; onSet: ((what: 'limits' | 'max-keys') => void) | null }) {
  const found = useInfiniteQuery(customerLimitsQuery(id))
  const limits = found.data?.pages[0]
  return (
    <Card
      title={TEXT.limits}
      flush
      aside={
        onSet && (
          <span className="flex flex-wrap gap-2">
            <Button onClick={() => onSet('limits')}>{TEXT.setLimits}</Button>
            <Button onClick={() => onSet('max-keys')}>{TEXT.setMaxKeys}</Button>
          </span>
        )
      }
    >
      {limits && (
        <p className="px-4 pb-3 sm:px-6">
          {TEXT.limitsText(
            grouped(limits.limits.rpm),
            grouped(limits.limits.tpm),
            grouped(limits.limits.concurrency),
            limits.custom ? TEXT.customLimits : TEXT.tierLimits(SHELL_TEXT.tiers[limits.tier]),
          )}{' '}
          {TEXT.keysOfMost(grouped(limits.live_keys), grouped(limits.most_keys))}
        </p>
      )}
      <Table
        caption={TEXT.table(TEXT.limitRequests)}
        columns={REQUESTS}
        rowKey={(row) => row.id}
        state={{ rows: found.data?.pages.flatMap(({ requests }) => requests), ...listState(found) }}
        empty={<Empty>{TEXT.noLimitRequests}</Empty>}
      />
    </Card>
  )
}

const ADJUSTMENTS: readonly Column<CustomerAdjustmentRow>[] = [
  { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
  {
    id: 'what',
    card: 'title',
    head: HEADS.what,
    cell: (row) => <Two first={BILLING_TEXT.kinds[row.kind]} second={reasonOf(row)} />,
  },
  { id: 'by', head: HEADS.by, cell: (row) => <Two first={byOf(row)} second={row.reference ?? row.request_id} /> },
  {
    id: 'amount',
    card: 'aside',
    head: HEADS.amount,
    numeric: true,
    cell: ({ amount_micros_usd: usd }) => costUsd(usd),
  },
]

/** Signup credit has no reason but its name. */
function reasonOf({ kind, reason }: CustomerAdjustmentRow): string | null {
  return reason === BILLING_TEXT.kinds[kind] ? null : reason
}

function byOf({ by }: CustomerAdjustmentRow): string {
  return by === 'console' ? TEXT.console : (by ?? '-')
}

/** Grants, debits and refunds of calls, with their reasons. `onGrant` and `onDebit` are null for support. */
export function AdjustmentsCard({ id, onGrant, onDebit }: AdjustmentsProps) {
  const found = useInfiniteQuery(customerAdjustmentsQuery(id))
  return (
    <Card
      title={TEXT.adjustments}
      flush
      aside={
        onGrant &&
        onDebit && (
          <span className="flex gap-2">
            <Button onClick={onGrant}>{TEXT.grant}</Button>
            <Button onClick={onDebit}>{TEXT.debit}</Button>
          </span>
        )
      }
    >
      <Table
        caption={TEXT.table(TEXT.adjustments)}
        columns={ADJUSTMENTS}
        rowKey={(row) => row.id}
        state={{ rows: found.data?.pages.flatMap(({ adjustments }) => adjustments), ...listState(found) }}
        empty={<Empty>{TEXT.noAdjustments}</Empty>}
      />
    </Card>
  )
}

type AdjustmentsProps = { id: string; onGrant: (() => void) | null; onDebit: (() => void) | null }
