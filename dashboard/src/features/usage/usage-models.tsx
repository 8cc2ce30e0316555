import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { toApiFailure } from '../../api/client/failure.ts'
import {
  NO_MODEL,
  type UsageReport,
  type UsageSums,
  usageParams,
  usageQuery,
  VIEWER_TIME_ZONE,
} from '../../api/usage.ts'
import type { UsageSpan } from '../../api/views/usage-range.ts'
import { type UsageView, viewFilter } from '../../api/views/usage-view.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { buttonClass } from '../../ui/button.tsx'
import { chartSlots } from '../../ui/charts/chart-slots.ts'
import { UsageChart } from '../../ui/charts/usage-chart.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Empty, Loading } from '../../ui/feedback/states.tsx'
import { Count } from '../../ui/format/count.tsx'
import { costUsd, grouped, percent, shortCount } from '../../ui/format/money.ts'
import { useNow } from '../../ui/format/time.tsx'
import { Card, Figure, Figures } from '../../ui/layout/card.tsx'
import { type Column, staticRows, Table } from '../../ui/layout/table.tsx'
import { GroupName } from './usage-groups.tsx'

type Group = NonNullable<UsageReport['groups']>[number]

/** The kinds of tokens with different prices. */
const KINDS: readonly (readonly [string, (sums: UsageSums) => number])[] = [
  [TEXT.kind.plain, (sums) => sums.input_tokens - sums.cache_read_tokens - sums.cache_write_tokens],
  [TEXT.kind.read, (sums) => sums.cache_read_tokens],
  [TEXT.kind.write, (sums) => sums.cache_write_tokens],
  [TEXT.kind.output, (sums) => sums.output_tokens],
]

/** The usage of models in a period: tokens by kind over time, and each model with its cache rate and cost. */
export function UsageModels({ view, span, onView }: UsageModelsProps) {
  const report = useQuery(usageQuery({ ...usageParams(span, viewFilter(view)), group_by: 'model' }))
  const now = useNow()
  const { data } = report
  const models = (data?.groups ?? []).filter(({ name }) => name !== NO_MODEL)
  if (!data)
    return report.error ? (
      <Failed failure={toApiFailure(report.error)} onRetry={() => void report.refetch()} />
    ) : (
      <Loading rows={6} />
    )
  if (models.length === 0)
    return (
      <Card title={TEXT.byModel} flush>
        <Empty
          action={
            <Link to="/playground" search={{ view: 'chat' }} className={buttonClass()}>
              {TEXT.tryModel}
            </Link>
          }
        >
          {TEXT.noModels}
        </Empty>
      </Card>
    )
  const slots = chartSlots(data.buckets, (at) => KINDS.map(([, of]) => countOf(data.buckets[at], of)), now)
  return (
    <>
      {report.error && (
        <Failed failure={toApiFailure(report.error)} onRetry={() => void report.refetch()} isStale={true} />
      )}
      <ModelFigures models={models} />
      <Card title={TEXT.kinds}>
        <UsageChart
          title={TEXT.kinds}
          slots={slots}
          series={KINDS.map(([name]) => name)}
          format={(value) => shortCount(Math.round(value))}
          zone={VIEWER_TIME_ZONE}
        />
      </Card>
      <Card title={TEXT.byModel} flush>
        <ModelTable models={models} onNarrow={(model) => onView({ model, tab: 'requests' })} />
      </Card>
    </>
  )
}

type UsageModelsProps = { view: UsageView; span: UsageSpan; onView: (part: Partial<UsageView>) => void }

function countOf(sums: UsageSums | undefined, of: (sums: UsageSums) => number): number {
  return sums ? of(sums) : 0
}

function sumOf(models: readonly Group[], of: (group: Group) => number): number {
  return models.reduce((sum, group) => sum + of(group), 0)
}

function ModelFigures({ models }: { models: readonly Group[] }) {
  const input = sumOf(models, (group) => group.input_tokens)
  const output = sumOf(models, (group) => group.output_tokens)
  const read = sumOf(models, (group) => group.cache_read_tokens)
  return (
    <Figures>
      <Figure label={TEXT.inputTokens} value={shortCount(input)} title={grouped(input)} />
      <Figure label={TEXT.outputTokens} value={shortCount(output)} title={grouped(output)} />
      <Figure label={TEXT.cacheShare} value={percent(read, input)}>
        {TEXT.cacheShareOf(shortCount(read), shortCount(input))}
      </Figure>
      <Figure label={TEXT.modelSpend} value={costUsd(sumOf(models, (group) => group.charged_micros_usd))}>
        {TEXT.modelCalls(shortCount(sumOf(models, (group) => group.requests)))}
      </Figure>
    </Figures>
  )
}

/** The figures of a model, in column order. */
const FIGURES: readonly { id: keyof typeof TEXT.modelColumns; of: (group: Group) => number; money?: true }[] = [
  { id: 'requests', of: (group) => group.requests },
  { id: 'failed', of: (group) => group.failed_requests },
  { id: 'input', of: (group) => group.input_tokens },
  { id: 'read', of: (group) => group.cache_read_tokens },
  { id: 'write', of: (group) => group.cache_write_tokens },
  { id: 'output', of: (group) => group.output_tokens },
  { id: 'cost', of: (group) => group.charged_micros_usd, money: true },
]

function ModelTable({ models, onNarrow }: { models: readonly Group[]; onNarrow: (model: string) => void }) {
  const heads = TEXT.modelColumns
  const figure = (value: number, money: true | undefined) => (money ? costUsd(value) : <Count value={value} />)
  const hits = (groups: readonly Group[]) =>
    percent(
      sumOf(groups, (group) => group.cache_read_tokens),
      sumOf(groups, (group) => group.input_tokens),
    )
  const columns: readonly Column<Group>[] = [
    {
      id: 'model',
      head: heads.model,
      name: true,
      cell: ({ name }) => <GroupName label={String(name)} onNarrow={() => onNarrow(String(name))} />,
    },
    ...FIGURES.map(
      ({ id, of, money }): Column<Group> => ({
        id,
        head: heads[id],
        numeric: true,
        cell: (group) => figure(of(group), money),
      }),
    ),
    { id: 'hits', head: heads.hits, numeric: true, cell: (group) => hits([group]) },
  ]
  const sums = FIGURES.map(({ id, of, money }) => [id, figure(sumOf(models, of), money)])
  return (
    <Table
      caption={TEXT.modelTable}
      columns={columns}
      rowKey={({ name }) => String(name)}
      textOf={({ name }) => String(name)}
      state={staticRows(models)}
      empty={null}
      totals={{ label: TEXT.sum, of: { ...Object.fromEntries(sums), hits: hits(models) } }}
    />
  )
}
