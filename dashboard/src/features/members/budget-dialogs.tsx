import { useQuery } from '@tanstack/react-query'
import { defaultBudgetsQuery, setDefaultBudgets, setMemberBudgets } from '../../api/account/budgets.ts'
import { useTimezone } from '../../api/account/settings.ts'
import type { Member } from '../../api/account/workspaces.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { BUDGET_TEXT } from '../../messages/budgets.ts'
import { MEMBER_TEXT as TEXT } from '../../messages/members.ts'
import { BudgetsDialog } from '../../ui/budgets/budgets-dialog.tsx'
import type { Budget } from '../../ui/budgets/current-budgets.ts'
import { useMemberChange } from './use-member-change.ts'

export function MemberBudgetsDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const saving = useMemberChange(
    (budgets: Budget[]) => setMemberBudgets(member.id, budgets),
    BUDGET_TEXT.saved,
    onClose,
  )
  return (
    <BudgetsDialog
      title={TEXT.budgetsOf(member.name)}
      text={TEXT.budgetsText}
      budgets={member.budgets}
      zone={useTimezone()}
      saving={saving}
      failure={failureFrom(saving)}
      onClose={onClose}
    />
  )
}

export function DefaultBudgetsDialog({ onClose }: { onClose: () => void }) {
  const zone = useTimezone()
  const found = useQuery(defaultBudgetsQuery)
  const saving = useMemberChange((budgets: Budget[]) => setDefaultBudgets(budgets), BUDGET_TEXT.saved, onClose)
  if (!found.data) return null
  return (
    <BudgetsDialog
      title={TEXT.newBudgets}
      text={TEXT.newBudgetsText}
      budgets={found.data.budgets}
      zone={zone}
      saving={saving}
      failure={failureFrom(saving)}
      onClose={onClose}
    />
  )
}
