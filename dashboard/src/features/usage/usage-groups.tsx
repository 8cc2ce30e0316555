import type { ReactNode } from 'react'
import { groupFilter, NO_MODEL, type UsageFilter, type UsageReport, type UsageSums } from '../../api/usage.ts'
import type { UsageView } from '../../api/views/usage-view.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { Count } from '../../ui/format/count.tsx'
import { costUsd, percent } from '../../ui/format/money.ts'
import { type Column, staticRows, Table } from '../../ui/layout/table.tsx'
import { Name } from '../../ui/name.tsx'

type Group = NonNullable<UsageReport['groups']>[number]

/**
 * The groups of a period, highest cost first, with their total: what they add up to, or, where they overlap, `whole`. Selecting a group shows
 * its requests.
 */
export function UsageGroups({ groups, whole, by, label, onNarrow, empty }: UsageGroupsProps) {
  const all = groups ?? []
  const sum = (of: (sums: UsageSums) => number) =>
    whole ? of(whole) : all.reduce((total, group) => total + of(group), 0)
  const spent = sum((group) => group.charged_micros_usd)
  const { columns } = TEXT
  const table: readonly Column<Group>[] = [
    {
      id: 'name',
      head: columns.name,
      name: true,
      cell: ({ name }) =>
        name === NO_MODEL ? (
          TEXT.noGroup[by === 'tag' ? 'tag' : 'model']
        ) : by === 'scope' ? (
          <Name wide>{String(name)}</Name>
        ) : (
          <GroupName label={label(String(name))} onNarrow={() => onNarrow(groupFilter(by, String(name)))} />
        ),
    },
    { id: 'requests', head: columns.requests, numeric: true, cell: (group) => <Count value={group.requests} /> },
    { id: 'failed', head: columns.failed, numeric: true, cell: (group) => <Count value={group.failed_requests} /> },
    { id: 'tokens', head: columns.tokens, numeric: true, cell: (group) => <Count value={tokensOf(group)} /> },
    { id: 'cost', head: columns.cost, numeric: true, cell: (group) => costUsd(group.charged_micros_usd) },
    { id: 'share', head: columns.share, numeric: true, cell: (group) => percent(group.charged_micros_usd, spent) },
  ]
  const totals = {
    requests: <Count value={sum((group) => group.requests)} />,
    failed: <Count value={sum((group) => group.failed_requests)} />,
    tokens: <Count value={sum(tokensOf)} />,
    cost: costUsd(spent),
    share: percent(spent, spent),
  }
  return (
    <Table
      caption={TEXT.groupsOf(TEXT.groups[by])}
      columns={table}
      rowKey={({ name }) => String(name)}
      textOf={({ name }) => label(String(name))}
      state={staticRows(groups)}
      empty={empty}
      totals={{ label: TEXT.sum, of: totals }}
    />
  )
}

type UsageGroupsProps = {
  groups: readonly Group[] | undefined
  whole?: UsageSums | undefined
  by: UsageView['group']
  label: (name: string) => string
  onNarrow: (filter: UsageFilter) => void
  empty: ReactNode
}

/** The name of a group, which links to its requests. */
export function GroupName({ label, onNarrow }: { label: string; onNarrow: () => void }) {
  return (
    <button
      type="button"
      className="min-h-6 max-w-full min-w-0 rounded-md text-left font-medium text-accent hover:underline"
      aria-label={TEXT.show(label)}
      onClick={onNarrow}
    >
      <Name wide>{label}</Name>
    </button>
  )
}

function tokensOf({ input_tokens: input, output_tokens: output }: UsageSums): number {
  return input + output
}
