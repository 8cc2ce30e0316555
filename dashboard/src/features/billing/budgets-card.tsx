import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useMay } from '../../api/account/account.ts'
import { budgetsQuery, setBudgets } from '../../api/account/budgets.ts'
import { useTimezone } from '../../api/account/settings.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { BUDGET_TEXT } from '../../messages/budgets.ts'
import { BudgetMeters } from '../../ui/budgets/budget-meters.tsx'
import type { Budget } from '../../ui/budgets/current-budgets.ts'
import { Button } from '../../ui/button.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Card } from '../../ui/layout/card.tsx'

const BudgetsDialog = lazyPart(() =>
  import('../../ui/budgets/budgets-dialog.tsx').then(({ BudgetsDialog }) => BudgetsDialog),
)

/** What all keys and apps of the workspace may spend together. */
export function BudgetsCard() {
  const queries = useQueryClient()
  const zone = useTimezone()
  const mayChange = useMay('settings:write')
  const found = useQuery(budgetsQuery)
  const [isOpen, setOpen] = useState(false)
  const saving = useMutation({
    mutationFn: (budgets: Budget[]) => setBudgets(budgets),
    onSuccess: () => {
      void toast(BUDGET_TEXT.saved)
      setOpen(false)
    },
    onSettled: () => queries.invalidateQueries({ queryKey: budgetsQuery.queryKey }),
  })
  return (
    <Card
      title={TEXT.budgets}
      aside={mayChange && found.data && <Button onClick={() => setOpen(true)}>{BUDGET_TEXT.change}</Button>}
    >
      {found.data ? (
        <BudgetMeters of={found.data} />
      ) : found.error ? (
        <Failed failure={toApiFailure(found.error)} onRetry={() => void found.refetch()} />
      ) : (
        <Loading rows={1} />
      )}
      {isOpen && found.data && (
        <BudgetsDialog
          title={TEXT.budgets}
          text={TEXT.budgetsText}
          budgets={found.data.budgets}
          zone={zone}
          saving={saving}
          failure={failureFrom(saving)}
          onClose={() => setOpen(false)}
        />
      )}
    </Card>
  )
}
