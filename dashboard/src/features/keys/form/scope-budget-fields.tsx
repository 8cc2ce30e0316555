import { BUDGET_TEXT } from '../../../messages/budgets.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { BUDGET_PERIODS } from '../../../ui/budgets/current-budgets.ts'
import { Field, Select } from '../../../ui/field.tsx'
import type { KeyFieldsProps } from './key-fields-props.ts'

/** What each scope of the key may spend per day, week or month. */
export function ScopeBudgetFields({ values, errors, onChange, onFieldBlur }: KeyFieldsProps) {
  const periods = BUDGET_PERIODS.map((value) => ({ value, text: BUDGET_TEXT.periods[value] }))
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={TEXT.scope} hint={TEXT.scopeHint}>
        {({ className: _look, ...control }) => (
          <Select
            {...control}
            name="scopePeriod"
            options={[{ value: '', text: TEXT.scopeNone }, ...periods]}
            value={values.scopePeriod}
            onChange={(event) =>
              onChange({ scopePeriod: BUDGET_PERIODS.find((period) => period === event.target.value) ?? '' })
            }
          />
        )}
      </Field>
      {values.scopePeriod !== '' && (
        <Field label={TEXT.scopeAmount} error={errors.scopeBudget}>
          {(control) => (
            <input
              {...control}
              name="scopeBudget"
              inputMode="decimal"
              value={values.scopeBudget}
              onChange={(event) => onChange({ scopeBudget: event.target.value })}
              onBlur={() => values.scopeBudget !== '' && onFieldBlur('scopeBudget')}
            />
          )}
        </Field>
      )}
    </div>
  )
}
