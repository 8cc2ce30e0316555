import { type FormEvent, useState } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { Button } from '../button.tsx'
import { Dialog, DialogButtons } from '../dialogs/dialog.tsx'
import { FormFailure } from '../feedback/failure.tsx'
import { budgetsError, toBudgets, typedBudgets } from './budget-values.ts'
import { BudgetsField } from './budgets-field.tsx'
import type { Budget } from './current-budgets.ts'

/** Changes the budgets of a member or a workspace. The mutation closes the dialog when it succeeds. */
export function BudgetsDialog({ title, text, budgets, zone, saving, failure, onClose }: BudgetsDialogProps) {
  const [typed, setTyped] = useState(() => typedBudgets(budgets))
  const [isMarked, setMarked] = useState(false)
  const wrong = budgetsError(typed)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setMarked(true)
    if (wrong === undefined && !saving.isPending) saving.mutate(toBudgets(typed, budgets, zone))
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <p className="text-muted">{text}</p>
        <BudgetsField
          value={typed}
          error={isMarked ? wrong : undefined}
          zone={budgets[0]?.timezone ?? zone}
          onChange={setTyped}
        />
        <FormFailure failure={failure} />
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={saving.isPending}>
            {TEXT.save}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type BudgetsDialogProps = {
  title: string
  text: string
  budgets: readonly Budget[]
  /** The time zone of new budgets. */
  zone: string
  saving: { readonly isPending: boolean; readonly mutate: (budgets: Budget[]) => void }
  failure: ApiFailure | null
  onClose: () => void
}
