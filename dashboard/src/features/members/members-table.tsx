import { useQuery } from '@tanstack/react-query'
import { useMay } from '../../api/account/account.ts'
import { type Member, membersQuery } from '../../api/account/workspaces.ts'
import { listState } from '../../api/client/list-state.ts'
import { BUDGET_TEXT } from '../../messages/budgets.ts'
import { MEMBER_TEXT as TEXT } from '../../messages/members.ts'
import { Badge } from '../../ui/badge.tsx'
import { BudgetMeter } from '../../ui/budgets/budget-meter.tsx'
import { bindingBudget } from '../../ui/budgets/current-budgets.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'
import type { MenuEntry } from '../../ui/menus/menu-entry.ts'
import { MoreMenu } from '../../ui/menus/more-menu.tsx'

export type MemberAct = 'role' | 'budgets' | 'remove' | 'give'
type OnAct = (act: MemberAct, member: Member) => void

/** The people of the workspace, and what the one who looks may do with each. */
export function MembersTable({ onAct }: { onAct: OnAct }) {
  const members = useQuery(membersQuery)
  const isAdmin = useMay('members:write')
  const isOwner = useMay('workspace:own')
  const { columns } = TEXT
  const shown: readonly Column<Member>[] = [
    { id: 'member', head: columns.member, cell: (member) => <Who member={member} /> },
    { id: 'role', head: columns.role, card: 'aside', cell: ({ role }) => <Badge>{TEXT.roles[role]}</Badge> },
    {
      id: 'budget',
      head: columns.budget,
      cell: (member) => {
        const current = bindingBudget(member)
        return current ? <BudgetMeter current={current} /> : <span className="text-muted">{BUDGET_TEXT.none}</span>
      },
    },
    { id: 'joined', head: columns.joined, cell: ({ joined_at: at }) => <TimeAgo at={at} /> },
    {
      id: 'actions',
      head: columns.actions,
      silent: true,
      numeric: true,
      card: 'aside',
      cell: (member) => {
        const entries = entriesOf(member, { isAdmin, isOwner }, onAct)
        return entries.length > 0 && <MoreMenu label={TEXT.actionsOn(member.email)} entries={entries} />
      },
    },
  ]
  return (
    <Table
      caption={TEXT.table}
      columns={shown}
      rowKey={({ id }) => id}
      textOf={({ email }) => email}
      state={{ rows: members.data?.members, ...listState(members) }}
      empty={null}
    />
  )
}

function Who({ member: { name, email, you } }: { member: Member }) {
  return (
    <span className="grid">
      <span className="font-medium wrap-anywhere">
        {name} {you && <Badge tone="accent">{TEXT.you}</Badge>}
      </span>
      <span className="small font-normal text-muted wrap-anywhere">{email}</span>
    </span>
  )
}

function entriesOf(
  member: Member,
  { isAdmin, isOwner }: { readonly isAdmin: boolean; readonly isOwner: boolean },
  onAct: OnAct,
): MenuEntry[] {
  const isOther = member.role !== 'owner'
  const entry = (act: MemberAct, label: string, danger = false): MenuEntry => ({
    kind: 'action',
    label,
    danger,
    onSelect: () => onAct(act, member),
  })
  return [
    ...(isAdmin ? [entry('budgets', BUDGET_TEXT.change)] : []),
    ...(isAdmin && isOther && !member.you ? [entry('role', TEXT.changeRole)] : []),
    ...(isOwner && isOther ? [entry('give', TEXT.handOver)] : []),
    ...(isOther && (isAdmin || member.you) ? [entry('remove', member.you ? TEXT.leave : TEXT.remove, true)] : []),
  ]
}
