import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { Field, Select } from '../../../ui/field.tsx'
import type { KeyFieldsProps } from './key-fields-props.ts'
import { BUDGET_PERIODS } from './key-form-values.ts'
import { useBudgetTimezone } from './use-budget-timezone.ts'

/** A budget per day, week or month. */
export function BudgetFields({ values, errors, apiKey, onChange, onFieldBlur }: KeyFieldsProps) {
  const zone = useBudgetTimezone(apiKey)
  const periods = BUDGET_PERIODS.map((value) => ({ value, text: TEXT.budgetPeriods[value] }))
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={TEXT.budget} hint={TEXT.budgetHint(zone)}>
        {({ className: _look, ...control }) => (
          <Select
            {...control}
            name="budgetPeriod"
            options={[{ value: '', text: TEXT.budgetNone }, ...periods]}
            value={values.budgetPeriod}
            onChange={(event) =>
              onChange({ budgetPeriod: BUDGET_PERIODS.find((period) => period === event.target.value) ?? '' })
            }
          />
        )}
      </Field>
      {values.budgetPeriod !== '' && (
        <Field label={TEXT.budgetAmount} error={errors.budget}>
          {(control) => (
            <input
              {...control}
              name="budget"
              inputMode="decimal"
              value={values.budget}
              onChange={(event) => onChange({ budget: event.target.value })}
              onBlur={() => values.budget !== '' && onFieldBlur('budget')}
            />
          )}
        </Field>
      )}
    </div>
  )
}
