import { useQuery } from '@tanstack/react-query'
import { failureFrom } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import {
  type Reconciliation,
  type ReconciliationRun,
  reconcile,
  reconciliationsQuery,
  restoreQuery,
  type UnknownPage,
} from '../../../api/money.ts'
import { MONEY_TEXT as TEXT } from '../../../messages/money.ts'
import { Button } from '../../../ui/button.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { costUsd, grouped } from '../../../ui/format/money.ts'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, staticRows, Table } from '../../../ui/layout/table.tsx'
import { useOperatorAction } from '../action-form.tsx'

/** The findings of a comparison. */
interface Found {
  readonly key: string
  readonly what: string
  readonly of: string
  readonly there: number | null
  readonly here: number
}

/** Compares the books with themselves, the card processor and the chains, and shows what was found. */
export function CompareView() {
  const query = useQuery(reconciliationsQuery)
  const running = useOperatorAction(
    reconcile,
    () => TEXT.compare,
    () => undefined,
  )
  const { data } = query
  return (
    <div className="grid min-w-0 gap-6">
      <RestoreNotice />
      <Card title={TEXT.compare}>
        <p className="text-muted">{TEXT.compareText}</p>
        <div className="flex flex-wrap gap-2">
          <Button tone="primary" busy={running.isPending} onClick={() => running.mutate(false)}>
            {TEXT.run}
          </Button>
          <Button busy={running.isPending} onClick={() => running.mutate(true)}>
            {TEXT.apply}
          </Button>
        </div>
        <FormFailure failure={failureFrom(running)} />
      </Card>
      {data?.last && <LastCard last={data.last} />}
      {data && data.unknown_pages.length > 0 && <WaitingCard pages={data.unknown_pages} />}
      <Card title={TEXT.runs} flush>
        <Table
          caption={TEXT.runsTable}
          columns={RUNS}
          rowKey={({ id }) => id}
          state={{ rows: data?.runs, ...listState(query) }}
          empty={<Empty>{TEXT.noRuns}</Empty>}
        />
      </Card>
    </div>
  )
}

/** Says that this data is a copy, until somebody looked at what that means. */
function RestoreNotice() {
  const restored = useQuery(restoreQuery).data?.restored
  if (!restored) return null
  const taken = restored.taken_at.slice(0, 10)
  return restored.checked_at === null ? (
    <p role="status" className="rounded-md bg-warn-soft px-4 py-3 text-warn wrap-anywhere">
      {TEXT.restored(taken)}
    </p>
  ) : (
    <p className="text-muted">{TEXT.restoredChecked(taken, restored.checked_at.slice(0, 10))}</p>
  )
}

const RUNS: readonly Column<ReconciliationRun>[] = [
  { id: 'at', head: TEXT.runColumns.at, cell: ({ started_at: at }) => <TimeAgo at={at} /> },
  { id: 'by', head: TEXT.runColumns.by, cell: byOf },
  { id: 'applied', head: TEXT.runColumns.applied, cell: ({ applied }) => (applied ? TEXT.yes : TEXT.no) },
  { id: 'problems', card: 'aside', head: TEXT.runColumns.problems, numeric: true, cell: problemsOf },
]

function byOf({ actor }: ReconciliationRun): string {
  return actor === 'job' || actor === 'console' ? TEXT.byWhom[actor] : TEXT.byWhom.person
}

function problemsOf({ problems, complete }: ReconciliationRun): string {
  return complete ? grouped(problems) : `${grouped(problems)}, ${TEXT.unfinished}`
}

function LastCard({ last }: { last: Reconciliation }) {
  const found = foundBy(last)
  const booked = last.booked + last.corrected + (last.chain?.booked ?? 0)
  return (
    <Card title={TEXT.last} flush>
      <p role="status" className="px-4 pb-3 sm:px-6">
        <TimeAgo at={last.started_at} />: {TEXT.ran(last.problems)} {booked > 0 && TEXT.booked(booked)}{' '}
        {!last.complete && TEXT.incomplete}
      </p>
      {found.length > 0 && (
        <Table caption={TEXT.found} columns={FOUND} rowKey={({ key }) => key} state={staticRows(found)} empty={null} />
      )}
    </Card>
  )
}

const FOUND: readonly Column<Found>[] = [
  { id: 'what', head: TEXT.foundColumns.what, cell: ({ what }) => what },
  { id: 'of', head: TEXT.foundColumns.of, cell: ({ of }) => <span className="code wrap-anywhere">{of}</span> },
  {
    id: 'there',
    head: TEXT.foundColumns.there,
    numeric: true,
    cell: ({ there }) => (there === null ? '-' : costUsd(there)),
  },
  { id: 'here', head: TEXT.foundColumns.here, numeric: true, cell: ({ here }) => costUsd(here) },
]

function foundBy({ ledger, missing, cards, chain }: Reconciliation): readonly Found[] {
  return [
    ...ledger.map(({ what, subject, one, other }) => ({
      key: `${what} ${subject}`,
      what: `${TEXT.kinds.ledger}: ${what}`,
      of: subject,
      there: one,
      here: other,
    })),
    ...missing.map(({ page, account, amount_micros_usd: there }) => ({
      key: page,
      what: TEXT.kinds.missing,
      of: `${page} ${account ?? ''}`,
      there,
      here: 0,
    })),
    ...(cards?.differences ?? []).map((one) => ({
      key: `${one.what} ${one.id}`,
      what: TEXT.kinds[one.what],
      of: `${one.id} ${one.payment}`,
      there: one.at_processor_micros_usd,
      here: one.here_micros_usd,
    })),
    ...(chain?.problems ?? []).map((one) => ({
      key: `${one.kind} ${one.payment ?? ''} ${one.reference ?? ''}`,
      what: TEXT.kinds[one.kind],
      of: one.payment ?? one.reference ?? '',
      there: one.on_chain_micros_usd,
      here: one.here_micros_usd,
    })),
  ]
}

function WaitingCard({ pages }: { pages: readonly UnknownPage[] }) {
  const { waitingColumns: heads } = TEXT
  return (
    <Card title={TEXT.waiting} flush>
      <p className="px-4 pb-3 text-muted sm:px-6">{TEXT.waitingText}</p>
      <Table
        caption={TEXT.waitingTable}
        columns={[
          { id: 'page', head: heads.page, cell: ({ page }) => <span className="code wrap-anywhere">{page}</span> },
          { id: 'payment', head: heads.payment, cell: ({ payment }) => <span className="code">{payment ?? '-'}</span> },
          { id: 'messages', head: heads.messages, numeric: true, cell: ({ messages }) => grouped(messages) },
          { id: 'since', head: heads.since, cell: ({ first_at: at }) => <TimeAgo at={at} /> },
        ]}
        rowKey={({ page }) => page}
        state={staticRows(pages)}
        empty={null}
      />
    </Card>
  )
}
