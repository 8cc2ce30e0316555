import { type ComponentProps, type ReactNode, useState } from 'react'
import { BUDGET_TEXT as TEXT } from '../../messages/budgets.ts'
import { Button } from '../button.tsx'
import { Choices, Field } from '../field.tsx'
import { isAmountWrong, isRaiseWrong, type TypedBudgets } from './budget-values.ts'
import { BUDGET_PERIODS, type BudgetPeriod } from './current-budgets.ts'

/** A budget per day, week and month, each of which can be raised for a while. */
export function BudgetsField({ value, error, zone, onChange, onBlur }: BudgetsFieldProps) {
  const change = (period: BudgetPeriod, part: Partial<TypedBudgets[BudgetPeriod]>) =>
    onChange({ ...value, [period]: { ...value[period], ...part } })
  return (
    <Choices legend={TEXT.budgets} hint={TEXT.hint(zone)} error={error}>
      {BUDGET_PERIODS.map((period) => (
        <BudgetRow
          key={period}
          period={period}
          typed={value[period]}
          marked={error !== undefined}
          onChange={(part) => change(period, part)}
          onBlur={onBlur}
        />
      ))}
    </Choices>
  )
}

type BudgetsFieldProps = {
  value: TypedBudgets
  error?: string | undefined
  zone: string
  onChange: (value: TypedBudgets) => void
  onBlur?: () => void
}

function BudgetRow({ period, typed, marked, onChange, onBlur }: BudgetRowProps) {
  const [isOpen, setOpen] = useState(false)
  const { amount, raise, until } = typed
  const isRaised = amount.trim() !== '' && (isOpen || raise !== '' || until !== '')
  const raiseWrong = marked && isRaiseWrong(typed) ? true : undefined
  const of = <span className="sr-only"> {TEXT.periods[period].toLowerCase()}</span>
  return (
    <div className="grid grid-cols-2 items-end gap-x-3 sm:grid-cols-3">
      <BudgetInput
        {...AMOUNT}
        label={TEXT.periods[period]}
        aria-invalid={marked && isAmountWrong(typed) ? true : undefined}
        value={amount}
        onChange={({ target }) => onChange({ amount: target.value })}
        onBlur={onBlur}
      />
      {amount.trim() !== '' && !isRaised && (
        <Button tone="quiet" onClick={() => setOpen(true)} className="justify-self-start">
          {TEXT.raise}
          {of}
        </Button>
      )}
      {isRaised && (
        <>
          <BudgetInput
            {...AMOUNT}
            label={
              <>
                {TEXT.raiseBy}
                {of}
              </>
            }
            aria-invalid={raiseWrong}
            value={raise}
            onChange={({ target }) => onChange({ raise: target.value })}
            onBlur={onBlur}
          />
          <BudgetInput
            type="date"
            label={
              <>
                {TEXT.until}
                {of}
              </>
            }
            aria-invalid={raiseWrong}
            value={until}
            onChange={({ target }) => onChange({ until: target.value })}
            onBlur={onBlur}
          />
        </>
      )}
    </div>
  )
}

type BudgetRowProps = {
  period: BudgetPeriod
  typed: TypedBudgets[BudgetPeriod]
  /** Whether what is wrong is marked. */
  marked: boolean
  onChange: (part: Partial<TypedBudgets[BudgetPeriod]>) => void
  onBlur: (() => void) | undefined
}

const AMOUNT = { inputMode: 'decimal', autoComplete: 'off' } as const

function BudgetInput({ label, ...rest }: { label: ReactNode } & ComponentProps<'input'>) {
  return <Field label={label}>{(control) => <input {...control} {...rest} name="budgets" />}</Field>
}
